/** What git keeps of a thread goes with the thread: real sidecar, runner and git, the stand-in engine. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { BYPASS_CONFIG, script, untilStatus } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

// Five agents work one after the other.
vi.setConfig({ testTimeout: 90_000 });

let sidecar: TestSidecar;
let dir: string;
beforeAll(async () => {
  sidecar = await startSidecar(BYPASS_CONFIG);
  dir = join(sidecar.reposDir, "repo");
  mkdirSync(dir);
  execFileSync("git", ["init", "-q"], { cwd: dir });
});
afterAll(() => sidecar?.close());

const refs = (threadId: string) =>
  execFileSync("git", ["for-each-ref", "--format=%(refname)", `refs/threadmux/${threadId}/`], {
    cwd: dir,
    encoding: "utf8",
  });
const threads = () => join(sidecar.stateDir, "threads");
const untilAllGone = () =>
  until("what was set aside to be gone", () => !readdirSync(threads()).some((name) => name.startsWith(".")));
/** As retention does with threads that ended long ago. */
const removeEnded = () => sidecar.restart({ logRetentionHours: 1e-9 });

async function work(threadId: string): Promise<void> {
  const { client } = sidecar;
  const call = { name: "Bash", input: { command: `date +%N >> ${threadId}` } };
  await client.createThread({
    ...{ threadId, type: "agent", dir: "repo" },
    command: script("Do it", { tools: [call] }, { text: "Done." }),
    agent: { permissionMode: "bypassPermissions" },
  });
  await untilStatus(sidecar, threadId, "idle");
  expect(refs(threadId)).toContain(`refs/threadmux/${threadId}/`);
}

async function end(threadId: string): Promise<void> {
  await work(threadId);
  await sidecar.client.killThread(threadId);
}

test("a removed thread leaves no ref; an open one keeps its own, also one with a removed thread's id", async () => {
  for (const threadId of ["one", "again", "cut-off"]) await end(threadId);
  await work("open");
  await work("again");
  const kept = [refs("open"), refs("again")];
  // As if the sidecar had been killed when it had set a folder aside, of a removed thread and of one that was made anew.
  await sidecar.stop();
  renameSync(join(threads(), "cut-off"), join(threads(), ".gone-1"));
  mkdirSync(join(threads(), ".gone-2"));
  const config = execFileSync("cat", [join(threads(), "again", "thread.json")]);
  writeFileSync(join(threads(), ".gone-2", "thread.json"), config);
  await removeEnded();
  await until("no refs", () => refs("one") === "");
  await untilAllGone();
  expect(refs("cut-off")).toBe("");
  expect([refs("open"), refs("again")]).toEqual(kept);
  expect(existsSync(join(threads(), "one"))).toBe(false);
});

test("a repository that is gone holds nothing up; one that can't be written in is tried again", async () => {
  await end("held");
  await end("gone");
  const locks = join(dir, ".git", "refs", "threadmux", "held");
  const turn = join(locks, readdirSync(locks)[0] ?? "");
  writeFileSync(join(turn, "after.lock"), ""); // of a git that was killed
  await removeEnded();
  await until("the other's refs", () => refs("gone") === "");
  const aside = () => readdirSync(threads()).filter((name) => name.startsWith("."));
  await until(
    "only what names it",
    () =>
      aside()
        .map((name) => readdirSync(join(threads(), name)))
        .join() === "thread.json",
  );
  rmSync(join(turn, "after.lock"));
  await sidecar.restart();
  await until("no refs", () => refs("held") === "");
  await untilAllGone();
  await end("homeless");
  renameSync(dir, `${dir}-away`);
  await removeEnded();
  await untilAllGone();
  expect(existsSync(join(threads(), "homeless"))).toBe(false);
});
