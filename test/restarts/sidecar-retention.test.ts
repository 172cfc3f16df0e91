/** What the state folder may hold in all, agents' folders counted. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { threadPath } from "../../shared/agent/paths.ts";
import { openAgent, STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar | undefined;
afterEach(() => sidecar?.close());

const MIB = 1024 * 1024;

async function folderBytes({ url, token }: TestSidecar): Promise<number> {
  const reply = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  return Number(/^threadmux_folder_disk_bytes (\S+)$/m.exec(await reply.text())?.[1]);
}

/** A result that is too long for the transcript, as a runner keeps it. */
function keepBlob(folder: string, bytes: number): void {
  mkdirSync(threadPath(folder, "blobs"), { recursive: true });
  writeFileSync(join(threadPath(folder, "blobs"), "0".repeat(64)), Buffer.alloc(bytes, "x"));
}

// Promise: R25
test("agents' folders count: ended threads go until all is within bounds, the oldest first", async () => {
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, stateMaxBytes: 5 * MIB }, { totalIntervalMs: 250 });
  const side = sidecar;
  const { client, stateDir } = side;
  const folder = join(stateDir, "threads", "big");
  await openTerminal(client, "old", "echo old");
  await client.killThread("old");
  await openTerminal(client, "open", "seq 200000; cat");
  const isPrinted = async () => (await readAll(client, "open")).output.endsWith("200000\r\n");
  await until("all of it", isPrinted);
  await openAgent(side, "big", script("hi", { text: "done" }));
  // Before the turn ends: the files of a thread that rests are counted again only after ten minutes.
  keepBlob(folder, 6 * MIB);
  await untilStatus(side, "big", "idle");

  // As long as the agent is open, its folder stays, whatever it takes.
  await until(
    "the ended terminal to go, since everything is too large",
    async () => {
      const threads = await client.listThreads({ status: "all" });
      return !threads.some(({ threadId }) => threadId === "old");
    },
    { timeoutMs: 30_000 },
  );
  expect(existsSync(folder)).toBe(true);
  expect(await folderBytes(side)).toBeGreaterThan(6 * MIB);

  await client.killThread("big");
  await openTerminal(client, "new", "echo new");
  await client.killThread("new");
  await until("the ended agent to be removed with its folder", () => !existsSync(folder), {
    timeoutMs: 30_000,
  });
  const left = (await client.listThreads({ status: "all" })).map(({ threadId }) => threadId);
  expect(left.sort()).toEqual(["new", "open"]);
  expect(await isPrinted()).toBe(true);
  await until("its bytes to be counted no more", async () => (await folderBytes(side)) === 0);
});
