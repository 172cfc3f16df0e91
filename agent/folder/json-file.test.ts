import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { findJson, replaceJson } from "./json-file.ts";

test("a file that is missing, empty or half of one reads as nothing; one that can't be read is an error", () => {
  const folder = makeFolder();
  onTestFinished(folder.remove);
  const path = join(folder.path, "a.json");
  expect(findJson(path)).toBeUndefined();
  replaceJson(path, { a: [1] });
  expect(findJson(path)).toEqual({ a: [1] });
  writeFileSync(path, readFileSync(path, "utf8").slice(0, -3));
  expect(findJson(path)).toBeUndefined();
  writeFileSync(path, "");
  expect(findJson(path)).toBeUndefined();
  mkdirSync(join(folder.path, "b"));
  expect(() => findJson(join(folder.path, "b"))).toThrow("EISDIR");
});
