/** The folder of Chromium's temporary files: short, one a thread, and removed by whoever comes after a kill. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeShortTmp, removeShortTmp } from "./short-tmp.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tmx-short-"));
});
afterEach(() => {
  removeShortTmp(folder);
  rmSync(folder, { recursive: true });
});

const deep = `/${"deep/".repeat(20)}`;

test("its socket's path fits, and the next one takes its place", () => {
  expect(makeShortTmp(folder, "/short")).toBe("/short");
  const first = makeShortTmp(folder, deep);
  expect(`${first}/org.chromium.Chromium.abcdef/SingletonSocket`.length).toBeLessThan(108);
  const second = makeShortTmp(folder, deep);
  expect([existsSync(first), existsSync(second)]).toEqual([false, true]);
  removeShortTmp(folder);
  expect(existsSync(second)).toBe(false);
});

test("a note that names anything else removes nothing", () => {
  const other = join(folder, "other");
  mkdirSync(other);
  for (const named of [other, "/tmp/tmx-../../etc", "/tmp", ""]) {
    writeFileSync(join(folder, "tmp-folder"), named);
    removeShortTmp(folder);
  }
  expect([existsSync(other), existsSync("/tmp"), existsSync("/etc")]).toEqual([true, true, true]);
});
