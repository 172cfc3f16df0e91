import { appendFileSync, renameSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { FollowSpec } from "../shared/follow/spec.ts";
import { writeWhole } from "../shared/whole-file.ts";
import { makeFolder } from "../test/support/folders.ts";
import { until } from "../test/support/wait.ts";
import { follow } from "./run.ts";

let folder: string;
let shown: string;
beforeEach(() => {
  const { path, remove } = makeFolder();
  folder = path;
  shown = "";
  onTestFinished(() => remove());
});

const at = (name: string) => join(folder, name);
const see = (paused: boolean, grep: string | null = null) =>
  writeWhole(at("view"), JSON.stringify({ paused, grep }));

/** Follows until the test ends. */
function start(source: FollowSpec["source"], maxHeldBytes = 1_000_000): Promise<number> {
  const spec: FollowSpec = {
    ...{ service: "it", source, lines: 10, maxHeldBytes },
    ...{ viewFile: at("view"), heldFile: at("held") },
  };
  writeFileSync(at("spec"), JSON.stringify(spec));
  const stop = new AbortController();
  const write = (text: string) => {
    shown += text;
  };
  const ended = follow(at("spec"), write, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  return ended;
}

const isShown = (text: string) => () => shown.includes(text);
const numbers = () => [...shown.matchAll(/^n(\d+)$/gm)].map(([, n]) => Number(n));
const count = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `n${from + i}\n`).join("");

test("a pause holds no more on the disk than it may, and still loses nothing", async () => {
  writeFileSync(at("log"), "before\n");
  see(false);
  void start({ kind: "files", pattern: at("log") }, 1_000_000);
  await until("the first line", isShown("before"));
  see(true);
  await until("the pause", isShown("paused"));
  for (let from = 0; from < 300_000; from += 20_000) appendFileSync(at("log"), count(from, from + 20_000));
  await until("the bound", () => statSync(at("held")).size >= 1_000_000);
  // What one look at the file may bring comes on top, and each line is quoted.
  expect(statSync(at("held")).size).toBeLessThan(3_000_000);
  expect(numbers()).toEqual([]);
  see(false);
  await until("all of it", isShown("n299999\n"));
  expect(numbers()).toEqual(Array.from({ length: 300_000 }, (_, i) => i));
  expect(statSync(at("held")).size).toBe(0);
});

test("what was held is shown if the program ends in the pause", async () => {
  see(true);
  const ended = start({ kind: "program", argv: ["/bin/sh", "-c", "echo one; echo two >&2; exit 7"] });
  expect(await ended).toBe(7);
  for (const line of ["one", "two"]) expect(shown).toContain(`${line}\n`);
});

test("a program that prints much is read as fast as it is shown, to its last line", async () => {
  see(false);
  expect(await start({ kind: "program", argv: ["/bin/sh", "-c", "seq -f n%.0f 0 199999"] })).toBe(0);
  expect(numbers()).toEqual(Array.from({ length: 200_000 }, (_, i) => i));
});

test("a program that is not there says so", async () => {
  see(false);
  expect(await start({ kind: "program", argv: [at("nothing")] })).toBe(127);
  expect(shown).toContain("could not be started");
});

test("a file that is rotated again and again, each time before anybody looks, and emptied", async () => {
  writeFileSync(at("log"), count(0, 10));
  see(false);
  void start({ kind: "files", pattern: at("log") });
  await until("the last lines", isShown("n9\n"));
  for (let round = 1; round <= 3; round++) {
    appendFileSync(at("log"), `n${10 * round}\n`);
    renameSync(at("log"), at(`log.${round}`));
    writeFileSync(at("log"), `n${10 * round + 1}\n`);
    appendFileSync(at(`log.${round}`), `n${10 * round + 2}\n`);
    await until(
      `round ${round}`,
      () => shown.includes(`n${10 * round + 1}\n`) && shown.includes(`n${10 * round + 2}\n`),
    );
  }
  truncateSync(at("log"));
  appendFileSync(at("log"), "n99\n");
  await until("the new beginning", isShown("n99\n"));
  const seen = numbers().slice(10);
  expect(seen.sort((a, b) => a - b)).toEqual([10, 11, 12, 20, 21, 22, 30, 31, 32, 99]);
});
