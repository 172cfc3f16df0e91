/** A path is opened only if a regular file stands there, and that is read only up to a bound. */
import { execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../test/support/folders.ts";
import { until } from "../test/support/wait.ts";
import { openRegular, openRegularFile, readRegular, UnfitFile } from "./regular-file.ts";

let folder: ReturnType<typeof makeFolder>;
const at = (name: string) => join(folder.path, name);
beforeEach(() => {
  folder = makeFolder();
});
afterEach(() => folder.remove());

test("a file is read whole, up to so many bytes", () => {
  writeFileSync(at("a"), "four");
  expect(readRegular(at("a"), 4).toString()).toBe("four");
  expect(() => readRegular(at("a"), 3)).toThrow("it is longer than 3 bytes");
  writeFileSync(at("empty"), "");
  expect(readRegular(at("empty"), 3)).toHaveLength(0);
});

test("a sparse file of 10 GB is refused by its length", () => {
  writeFileSync(at("sparse"), "");
  truncateSync(at("sparse"), 10 * 1024 ** 3);
  expect(() => readRegular(at("sparse"), 1024 * 1024)).toThrow(UnfitFile);
});

test("what is no file is not opened", async () => {
  mkdirSync(at("folder"));
  execFileSync("mkfifo", [at("pipe")]);
  symlinkSync(at("pipe"), at("link to a pipe"));
  const server = createServer().listen(at("socket"));
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    for (const path of ["folder", "pipe", "link to a pipe", "socket"]
      .map(at)
      .concat("/dev/zero", "/dev/tty")) {
      expect(() => readRegular(path, 10), path).toThrow("it is no file");
      await expect(openRegularFile(path), path).rejects.toThrow(UnfitFile);
    }
  } finally {
    server.close();
  }
});

test("a link is followed, or refused; one to itself leads nowhere", () => {
  writeFileSync(at("a"), "one");
  symlinkSync(at("a"), at("link"));
  symlinkSync(at("loop"), at("loop"));
  expect(readRegular(at("link"), 10).toString()).toBe("one");
  expect(() => openRegular(at("link"), false)).toThrow("it is a link");
  expect(() => openRegular(at("loop"))).toThrow(/ELOOP/);
  expect(() => openRegular(at("none"))).toThrow(/ENOENT/);
});

test("a path that is a file and a FIFO by turns: its writer never goes on", async () => {
  const program = `import os, sys, threading
os.chdir(sys.argv[1]); os.mkfifo("pipe"); open("kept", "w").write("text"); os.link("kept", "it")
def write():
    os.open("pipe", os.O_WRONLY); open("went-on", "w")
threading.Thread(target=write, daemon=True).start()
open("began", "w")
while True:
    for name in ("pipe", "kept"):
        os.link(name, "next"); os.rename("next", "it")`;
  const swapper = spawn("python3", ["-c", program, folder.path], { stdio: "ignore" });
  try {
    await until("the swaps to begin", () => existsSync(at("began")));
    const seen = { file: 0, other: 0 };
    for (let turn = 0; turn < 5_000; turn++) {
      try {
        closeSync(openRegular(at("it"), turn % 2 === 0));
        seen.file++;
      } catch (error) {
        expect(error).toBeInstanceOf(UnfitFile);
        seen.other++;
      }
    }
    expect(Math.min(seen.file, seen.other)).toBeGreaterThan(0);
    expect(existsSync(at("went-on"))).toBe(false);
  } finally {
    swapper.kill("SIGKILL");
  }
});
