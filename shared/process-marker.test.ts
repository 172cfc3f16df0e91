import { type ChildProcess, spawn } from "node:child_process";
import { afterEach, expect, test } from "vitest";
import { until } from "../test/support/wait.ts";
import { hasVariable } from "./process-marker.ts";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function start(env: Record<string, string>): Promise<number> {
  const child = spawn("sleep", ["1000"], { stdio: "ignore", env });
  children.push(child);
  const pid = child.pid ?? 0;
  await until("its environment", () => hasVariable(pid, "LAST=1"));
  return pid;
}

const PATH = process.env["PATH"] ?? "";

test("a process is known by a whole variable alone, wherever it stands", async () => {
  const pid = await start({ FIRST: "a", MARK: "/state/one", OTHER: "xMARK=/state/two", PATH, LAST: "1" });
  const has = (entry: string) => hasVariable(pid, entry);
  expect([has("FIRST=a"), has("MARK=/state/one"), has("LAST=1")]).toEqual([true, true, true]);
  expect([has("MARK=/state/on"), has("ARK=/state/one"), has("MARK=/state/two")]).toEqual([
    false,
    false,
    false,
  ]);
});

test("also in an environment of megabytes, after which a small one has no more than its own", async () => {
  const large = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`V${i}`, "x".repeat(100_000)]));
  const big = await start({ PATH, ...large, MARK: "big", LAST: "1" });
  const small = await start({ PATH, LAST: "1" });
  expect([hasVariable(big, "MARK=big"), hasVariable(small, "MARK=big")]).toEqual([true, false]);
});

test("who is gone has none", () => {
  expect(hasVariable(2 ** 22 + 1, "PATH=")).toBe(false);
});
