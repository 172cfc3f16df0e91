import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { EventBody } from "../../shared/agent/events.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { AppendFile } from "./append-file.ts";
import { LineFile, LineTooLong } from "./line-file.ts";
import { Transcript } from "./transcript.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "folder-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const now = new Date("2026-11-22T10:00:00.000Z");
const notice = (title: string): EventBody => ({ type: "notice", severity: "info", title });

test("only whole lines are read, also those that come in pieces and those over a chunk", () => {
  const path = join(folder, "lines");
  const reader = new LineFile(path, 0, 1_000_000);
  expect(reader.read()).toEqual([]);
  appendFileSync(path, "one\ntw");
  expect(reader.read()).toEqual([{ byte: 0, bytes: 4, text: "one" }]);
  expect(reader.read()).toEqual([]);
  const long = "x".repeat(600_000);
  appendFileSync(path, `o\n${long}\n`);
  expect(reader.read().map(({ text }) => text)).toEqual(["two"]);
  const [line] = reader.read();
  expect(line?.text === long).toBe(true);
  expect(reader.textAt(4, 4)).toBe("two");
  reader.close();
});

test("a line over the bound is refused with its place", () => {
  const path = join(folder, "lines");
  writeFileSync(path, `ok\n${"x".repeat(2_000_000)}`);
  const reader = new LineFile(path, 0, 1_000_000);
  reader.read();
  expect(() => reader.read()).toThrow(LineTooLong);
  reader.close();
});

test("a torn last line is cut off when the file is opened", () => {
  const path = join(folder, "lines");
  writeFileSync(path, `one\n${"y".repeat(200_000)}`);
  const file = new AppendFile(path);
  expect(file.bytes).toBe(4);
  file.append("two\n");
  file.close();
  expect(readFileSync(path, "utf8")).toBe("one\ntwo\n");
});

test("events of a line that is translated again are left out; torn ones are written again", () => {
  const source = { from: "engine", generation: 1, byte: 10 } as const;
  const first = new Transcript(folder, undefined, () => {});
  first.append(source, [notice("a"), notice("b"), notice("c")], now);
  first.close();
  const path = threadPath(folder, "transcript");
  const whole = readFileSync(path, "utf8");
  writeFileSync(path, whole.slice(0, -20)); // the third is torn
  const second = new Transcript(folder, undefined, () => {});
  second.append(source, [notice("a"), notice("b"), notice("c")], now);
  second.append({ ...source, byte: 5 }, [notice("older")], now);
  second.append({ ...source, generation: 2, byte: 0 }, [notice("newer")], now);
  second.close();
  expect(readFileSync(path, "utf8").startsWith(whole)).toBe(true);
  expect(second.fold.seq).toBe(4);
});

test.each([1, 2, 3, 4])("a snapshot fits also behind megabytes of other alphabets (%i)", (more) => {
  const transcript = new Transcript(folder, undefined, () => {});
  transcript.append(null, [notice("a".repeat(more)), notice("漢".repeat(5_000))], now);
  for (let i = 0; i < 30; i++) transcript.append(null, [notice("é漢".repeat(9_000))], now);
  transcript.append(null, [notice(`${"漢".repeat(6_000)}b`)], now);
  const { bytes, fold } = transcript;
  transcript.close();
  expect(bytes).toBeGreaterThan(1024 * 1024);
  expect(Transcript.fits(folder, { bytes, seq: fold.seq, fold })).toBe(true);
  expect(Transcript.fits(folder, { bytes: bytes - 1, seq: fold.seq, fold })).toBe(false);
});

test("a snapshot is used only if the transcript fits it", () => {
  const transcript = new Transcript(folder, undefined, () => {});
  transcript.append(null, [notice("a"), notice("b")], now);
  const snapshot = { bytes: transcript.bytes, seq: 2, fold: transcript.fold };
  transcript.append(null, [notice("c")], now);
  transcript.close();
  expect(Transcript.fits(folder, snapshot)).toBe(true);
  expect(Transcript.fits(folder, { ...snapshot, bytes: snapshot.bytes - 1 })).toBe(false);
  expect(Transcript.fits(folder, { ...snapshot, bytes: snapshot.bytes + 10_000 })).toBe(false);
  expect(Transcript.fits(folder, { ...snapshot, seq: 1 })).toBe(false);
  const seen: string[] = [];
  const again = new Transcript(folder, snapshot, (event) => seen.push(event.id));
  again.close();
  expect(seen).toEqual(["r2.0"]);
  expect(again.fold).toEqual(transcript.fold);
});
