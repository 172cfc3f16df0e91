import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../test/support/folders.ts";
import { writeWhole } from "./whole-file.ts";

let folder: ReturnType<typeof makeFolder>;
beforeEach(() => {
  folder = makeFolder();
});
afterEach(() => folder.remove());

test("a file is replaced, and only its owner may read it", () => {
  const file = join(folder.path, "file");
  writeWhole(file, "a long first text");
  writeWhole(file, new Uint8Array([0x62]), { isDurable: true });
  expect(readFileSync(file, "utf8")).toBe("b");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder.path)).toEqual(["file"]);
});

test("what can't be put in its place leaves nothing behind", () => {
  const taken = join(folder.path, "taken");
  mkdirSync(join(taken, "inner"), { recursive: true });
  expect(() => writeWhole(taken, "text")).toThrow();
  expect(readdirSync(folder.path)).toEqual(["taken"]);
  rmSync(taken, { recursive: true });
  writeWhole(taken, "text");
  expect(readFileSync(taken, "utf8")).toBe("text");
});
