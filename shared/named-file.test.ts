import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../test/support/folders.ts";
import { until } from "../test/support/wait.ts";
import { nameFile } from "./named-file.ts";

let folder: ReturnType<typeof makeFolder>;
const at = (name: string) => join(folder.path, name);
beforeEach(() => {
  folder = makeFolder();
});
afterEach(() => folder.remove());

test("its name leads to what was looked at, whatever the path leads to by then", () => {
  writeFileSync(at("a"), "one");
  const file = nameFile(at("a"), true);
  expect(file.stats.isFile()).toBe(true);
  writeFileSync(at("b"), "two");
  renameSync(at("b"), at("a"));
  expect(readFileSync(file.name, "utf8")).toBe("one");
  file.letGo();
  expect(existsSync(file.name)).toBe(false);
});

test("a link is followed, or is what was asked for", () => {
  writeFileSync(at("a"), "one");
  symlinkSync(at("a"), at("link"));
  const [followed, itself] = [nameFile(at("link"), true), nameFile(at("link"), false)];
  expect(followed.stats.isFile()).toBe(true);
  expect(itself.stats.isSymbolicLink()).toBe(true);
  followed.letGo();
  itself.letGo();
  expect(() => nameFile(at("none"), true)).toThrow(/ENOENT/);
});

test("who waits to write into a FIFO goes on waiting", async () => {
  execFileSync("mkfifo", [at("pipe")]);
  const writer = spawn("sh", ["-c", `: > began; echo x > pipe; : > went-on`], { cwd: folder.path });
  try {
    await until("the writer to begin", () => existsSync(at("began")));
    const file = nameFile(at("pipe"), true);
    expect(file.stats.isFIFO()).toBe(true);
    file.letGo();
    // A reader lets it go at once; it would not have waited for this one.
    expect(existsSync(at("went-on"))).toBe(false);
    execFileSync("timeout", ["5", "cat", at("pipe")]);
    await until("the writer to go on", () => existsSync(at("went-on")));
  } finally {
    writer.kill("SIGKILL");
  }
});
