/** The files of version 2, which not every machine has its controllers in; test/terminals/budgets.test.ts runs whichever is there. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { CONTROLLERS } from "./controllers.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function group(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "group-"));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

test("a limit is written as the kernel's documentation has it", () => {
  const path = group({ "memory.swap.max": "max\n" });
  CONTROLLERS[2].memory.limit(path, 1024);
  CONTROLLERS[2].cpu.limit(path, 1.5);
  CONTROLLERS[2].pids.limit(path, 64);
  const written = ["memory.max", "memory.swap.max", "cpu.max", "pids.max"].map((file) =>
    readFileSync(join(path, file), "utf8"),
  );
  expect(written).toEqual(["1024", "0", "150000 100000", "64"]);
  const limits = () =>
    (["memory", "cpu", "pids"] as const).map((resource) => CONTROLLERS[2][resource].find(path));
  expect(limits()).toEqual([1024, 1.5, 64]);
  for (const file of ["memory.max", "cpu.max", "pids.max"]) writeFileSync(join(path, file), "max\n");
  writeFileSync(join(path, "cpu.max"), "max 100000\n");
  expect(limits()).toEqual([Number.NaN, Number.NaN, Number.NaN]);
});

test("what a group takes, and how often it was held", () => {
  const path = group({
    "memory.current": "4096\n",
    "memory.events": "low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n",
    "cpu.stat": "usage_usec 900\nnr_periods 30\nnr_throttled 7\nthrottled_usec 2500000\n",
    "pids.current": "3\n",
    "pids.events": "max 5\n",
  });
  expect(CONTROLLERS[2].memory.read(path)).toEqual({ used: 4096, hits: 1 });
  expect(CONTROLLERS[2].cpu.read(path)).toEqual({ used: 2.5, hits: 7 });
  expect(CONTROLLERS[2].pids.read(path)).toEqual({ used: 3, hits: 5 });
});
