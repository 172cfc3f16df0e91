import { closeSync, existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { beginSpareFifo, isEngineAlive, keepSpareFifo, openForEngine, takeFifo } from "./fifo.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "fifo-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const spare = () => join(folder, "stdin.spare");
const taken = () => join(folder, "stdin.1");

test("the spare one is taken once, and nobody reads it yet", () => {
  keepSpareFifo(folder);
  const { ino } = lstatSync(spare());
  takeFifo(folder, taken());
  expect([lstatSync(taken()).ino, lstatSync(taken()).isFIFO()]).toEqual([ino, true]);
  expect([existsSync(spare()), isEngineAlive(taken())]).toEqual([false, false]);
  takeFifo(folder, join(folder, "stdin.2"));
  expect(lstatSync(join(folder, "stdin.2")).mode & 0o777).toBe(0o600);
});

test("a spare one is begun if there is none, and is there when that ends; what stands in its way is left alone", async () => {
  await beginSpareFifo(folder);
  const { ino } = lstatSync(spare());
  await beginSpareFifo(folder);
  expect([lstatSync(spare()).ino, lstatSync(spare()).mode & 0o777]).toEqual([ino, 0o600]);
  rmSync(spare());
  writeFileSync(spare(), "x");
  await beginSpareFifo(folder);
  expect(lstatSync(spare()).isFile()).toBe(true);
});

test("one that somebody reads already is not the engine's", () => {
  keepSpareFifo(folder);
  const stranger = openForEngine(spare());
  takeFifo(folder, taken());
  expect(isEngineAlive(taken())).toBe(false);
  closeSync(stranger);
});

test.each([
  ["a file", () => writeFileSync(spare(), "x")],
  ["a folder", () => mkdirSync(spare())],
])("%s in its place is left alone", (_, put) => {
  put();
  keepSpareFifo(folder);
  takeFifo(folder, taken());
  expect(lstatSync(taken()).isFIFO()).toBe(true);
});
