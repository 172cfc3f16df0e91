/** Children and files of agents while the sidecar is killed: each once, and none left behind. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { afterEach, expect, test } from "vitest";
import { seededRandom } from "../../shared/random.ts";
import { SIEGE_ENV } from "../support/agent-siege.ts";
import { openAgent, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { inFull } from "../support/faults.ts";
import { callTool, type ToolUse } from "../support/mcp.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";
import { until, untilValue } from "../support/wait.ts";

let sidecar: SpawnedSidecar;
afterEach(() => sidecar?.close());

const KILLS = inFull(100, 3);
const done = script("Work", { text: "Done." });

async function openParent(limits: object = {}): Promise<void> {
  sidecar = await spawnSidecar(SIEGE_ENV);
  await openAgent(sidecar, "parent", script("Hello", { text: "Hello." }), { agent: { limits } });
  await untilStatus(sidecar, "parent", "idle");
}

const childrenOf = async () =>
  (await sidecar.client.listThreads({ status: "all" })).filter(({ parentId }) => parentId === "parent");

/** Kills the sidecar when a thread's end is noted, and nothing after that. @returns how many threads are open */
async function cutOffKill(threadId: string): Promise<unknown> {
  const db = new Database(join(sidecar.stateDir, "threadmux.db"), { readonly: true });
  const status = db.prepare("SELECT status FROM threads WHERE thread_id = ?").pluck();
  const killing = sidecar.client.killThread(threadId).catch(() => undefined);
  await until("its end", () => status.get(threadId) === "killed", { intervalMs: 1 });
  await sidecar.kill9();
  const open = db.prepare("SELECT count(*) FROM threads WHERE status <> 'killed'").pluck().get();
  db.close();
  await killing;
  return open;
}

test(`spawn_thread and send_file do what they do once, over ${KILLS} kills of the sidecar in the middle`, {
  timeout: inFull(900_000, 90_000),
}, async () => {
  await openParent();
  const random = seededRandom(11);
  for (let kill = 0; kill < KILLS; kill++) {
    writeFileSync(join(sidecar.reposDir, "parent", `file-${kill}`), `words ${kill}`);
    const calls: ToolUse[] = [
      {
        name: "spawn_thread",
        threadId: "parent",
        callId: `s${kill}`,
        input: { prompt: done, mode: "async" },
      },
      { name: "send_file", threadId: "parent", callId: `f${kill}`, input: { path: `file-${kill}` } },
    ];
    const cutOff = calls.map((call) => callTool(sidecar, call).catch(() => undefined));
    await sleep(random() * 150); // where it is killed is the test's random choice
    await sidecar.kill9();
    await Promise.all(cutOff);
    await sidecar.start();
    for (const call of calls)
      expect(await callTool(sidecar, call)).toMatch(call.name === "send_file" ? /^Sent/ : /^Started/);
    const [child, ...others] = (await childrenOf()).filter(({ status }) => status !== "killed");
    expect(others).toEqual([]);
    await sidecar.client.killThread(child?.threadId ?? "");
  }
  const told = async () => {
    const types = (await transcriptOf(sidecar, "parent")).map(({ type }) => type);
    return ["thread_spawned", "file_sent"].map((one) => types.filter((type) => type === one).length);
  };
  await untilValue("all to be told", told, (counts) => counts.every((count) => count >= KILLS));
  expect(await told()).toEqual([KILLS, KILLS]);
  expect(await childrenOf()).toHaveLength(KILLS);
});

// Promise: R2
test("the sidecar is killed between a parent's kill and its children's: they end at the next start", async () => {
  await openParent();
  const spawn = (n: number) =>
    callTool(sidecar, {
      name: "spawn_thread",
      threadId: "parent",
      callId: String(n),
      input: { prompt: done, mode: "async" },
    });
  // Together, and there is room for eight.
  const told = await Promise.all(Array.from({ length: 10 }, (_, n) => spawn(n)));
  expect(told.filter((answer) => answer.startsWith("Started"))).toHaveLength(8);
  expect(told.filter((answer) => answer.includes("8 open children"))).toHaveLength(2);
  const isOpen = await cutOffKill("parent");
  expect(isOpen).toBeGreaterThan(0);
  await sidecar.start();
  await until("its children's", async () => (await childrenOf()).every(({ status }) => status === "killed"));
  expect(await childrenOf()).toHaveLength(8);
});

test("the sidecar is killed between a child's end and its parent's being told: what it has left is given back", async () => {
  await openParent({ turns: 5 });
  const spawn = (turns: number) =>
    callTool(sidecar, {
      name: "spawn_thread",
      threadId: "parent",
      callId: String(turns),
      input: { prompt: done, mode: "async", limits: { turns } },
    });
  expect(await spawn(4)).toContain("Started");
  const [child] = await childrenOf();
  const threadId = child?.threadId ?? "";
  await untilStatus(sidecar, threadId, "idle");
  await cutOffKill(threadId);
  await sidecar.start();
  expect(await spawn(3)).toContain("Started");
});
