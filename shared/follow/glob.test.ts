import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { findFiles, fitsName } from "./glob.ts";

test("a name fits a pattern", () => {
  for (const [pattern, name, fits] of [
    ["*.log", "app.log", true],
    ["*.log", "app.log.1", false],
    ["a?c*", "abcd", true],
    ["a?c", "ac", false],
    ["*", ".hidden", false],
    [".h*", ".hidden", true],
    ["a[b]", "ab", false],
    ["?", "😀", true],
    ["*a*b*", "xaxbx", true],
    ["", "a", false],
  ] as const)
    expect(fitsName(pattern, name), `${pattern} ${name}`).toBe(fits);
});

test("a pattern that tries all ways is soon done", () => {
  const startedAt = performance.now();
  expect(fitsName(`${"*a".repeat(100)}b`, "a".repeat(255))).toBe(false);
  expect(performance.now() - startedAt).toBeLessThan(500);
});

test("files are found in folders, within bounds, and no link leads round in a circle", async () => {
  const { path, remove } = makeFolder();
  for (const folder of ["var/log/deep", "node_modules/x", "var/.hidden"])
    mkdirSync(join(path, folder), { recursive: true });
  for (const file of [
    "a.log",
    "var/b.log",
    "var/log/c.log",
    "var/log/deep/d.log",
    "node_modules/x/e.log",
    "var/.hidden/f.log",
  ])
    writeFileSync(join(path, file), "");
  symlinkSync("..", join(path, "var/up"));
  const bounds = { maxEntries: 1_000, maxFiles: 100 };
  const find = async (pattern: string) => (await findFiles(path, pattern, bounds)).files;
  expect(await find("*.log")).toEqual(["a.log"]);
  expect(await find("./var/*/*.log")).toEqual(["var/log/c.log", "var/up/a.log"]);
  expect(await find("**/*.log")).toEqual(["a.log", "var/b.log", "var/log/c.log", "var/log/deep/d.log"]);
  expect(await find(join(path, "v*/*.log"))).toEqual([join(path, "var/b.log")]);
  expect(await find("no/such/*")).toEqual([]);
  expect(await findFiles(path, "**/*", { maxEntries: 3, maxFiles: 100 })).toMatchObject({ isCut: true });
  expect((await findFiles(path, "**/*.log", { maxEntries: 100, maxFiles: 2 })).files).toHaveLength(2);
  remove();
});
