import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { isAlive } from "../../test/support/processes.ts";
import { until } from "../../test/support/wait.ts";
import { findTree, killTree } from "./process-tree.ts";

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function start(env: Record<string, string> = {}): Promise<number> {
  const child = spawn("sleep", ["1000"], {
    stdio: "ignore",
    detached: true,
    env: { ...process.env, ...env },
  });
  children.push(child);
  await once(child, "spawn");
  const pid = child.pid ?? 0;
  await until("exec to be done", () => findTree({ panePid: pid, marker: undefined }).length === 1);
  return pid;
}

const pids = (seed: Parameters<typeof findTree>[0]) => findTree(seed).map((process) => process.pid);

test("a thread's processes are known by their marker", async () => {
  const ours = await start({ MARKER: "one" });
  await start({ MARKER: "one-and-more" });
  await start({ XMARKER: "one" });
  await start({ MARKER: "" });
  expect(pids({ panePid: 0, marker: "MARKER=one" })).toEqual([ours]);
  expect(await killTree({ panePid: 0, marker: "MARKER=one" })).toBe(0);
  expect(isAlive(ours)).toBe(false);
});

test("a process that has the number of a long-ended pane is not taken for it", async () => {
  const stranger = await start();
  expect(pids({ panePid: stranger, marker: "MARKER=one" })).toEqual([]);
  expect(await killTree({ panePid: stranger, marker: "MARKER=one" })).toBe(0);
  expect(isAlive(stranger)).toBe(true);
});

test("without a marker nobody is known by it, whatever their environment", async () => {
  const stranger = await start({ "": "" });
  expect(pids({ panePid: 0, marker: undefined })).toEqual([]);
  expect(isAlive(stranger)).toBe(true);
});

test("no tree is ever this process's own", () => {
  expect(pids({ panePid: process.pid, marker: undefined })).not.toContain(process.pid);
});
