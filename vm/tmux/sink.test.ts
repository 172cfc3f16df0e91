import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sinkCommand } from "./sink.ts";

function sink(input: string, setUp: (folder: string) => void): { folder: string; status: number | null } {
  const folder = mkdtempSync(join(tmpdir(), "sink-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  setUp(folder);
  const command = sinkCommand({ logPath: "a.log", sinkPidPath: "a.pid" });
  const { status } = spawnSync("/bin/sh", ["-c", command], { cwd: folder, input });
  return { folder, status };
}

test("a sink appends to the log that is there", () => {
  const { folder, status } = sink("more\n", (at) => writeFileSync(join(at, "a.log"), "before\n"));
  expect(status).toBe(0);
  expect(readFileSync(join(folder, "a.log"), "utf8")).toBe("before\nmore\n");
  expect(readFileSync(join(folder, "a.pid"), "utf8")).toMatch(/^\d+\n$/);
});

test("a sink that comes after its thread's creation was given up leaves nothing", () => {
  const { folder } = sink("late\n", () => undefined);
  expect(readdirSync(folder)).toEqual([]);
});

test("a path that a shell would take apart is refused", () => {
  expect(() => sinkCommand({ logPath: "a b.log", sinkPidPath: "a.pid" })).toThrow("unsafe path");
});
