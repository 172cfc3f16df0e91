import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readBytes } from "./growing-file.ts";
import { readLines } from "./lines.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "threadmux-test-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a pipe in a file's place is not waited for: reading it fails", async () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const isNoFile = expect.objectContaining({ code: "ESPIPE" });
  expect(() => [...readLines(pipe, 0)]).toThrow(isNoFile);
  await expect(readBytes(pipe, { position: 0, length: 10, end: 10 })).rejects.toEqual(isNoFile);
  await expect(readBytes(pipe, { position: 0, length: 10, end: 1_000_000 })).rejects.toEqual(isNoFile);
});
