import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../../test/support/wait.ts";
import { LogWatch } from "./log-watch.ts";

/** Whether this process is told of changes in the folder. */
function isWatched(folder: string): boolean {
  const inode = `ino:${statSync(folder).ino.toString(16)} `;
  return readdirSync("/proc/self/fdinfo").some((fd) => {
    try {
      return readFileSync(`/proc/self/fdinfo/${fd}`, "utf8").includes(inode);
    } catch {
      return false; // closed meanwhile
    }
  });
}

test("a flood that nobody reads is not followed; whoever waits next is told of what comes from then on", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tmx-log-watch-"));
  const watch = new LogWatch(folder, pino({ level: "silent" }));
  onTestFinished(() => {
    watch.close();
    rmSync(folder, { recursive: true });
  });
  const print = () => appendFileSync(join(folder, "flood.log"), "x");
  expect(isWatched(folder)).toBe(true);
  await until("the watch to rest", () => {
    print();
    return !isWatched(folder);
  });
  const { signal } = new AbortController();
  const quiet = watch.listen(["quiet"]);
  const flood = watch.listen(["flood"]);
  expect(isWatched(folder)).toBe(true);
  // Who is not told looks by itself after a second: `quiet`, which began to wait first, before `flood`. So it is also
  // while the machine stands still, but not each time.
  await until("what is printed to be told", async () => {
    const woken: string[] = [];
    const isOver = Promise.all([
      quiet.wait(60_000, signal).then(() => woken.push("quiet")),
      flood.wait(60_000, signal).then(() => woken.push("flood")),
    ]);
    print();
    await isOver;
    return woken.join() === "flood,quiet";
  });
  // Somebody waits: it goes on, however much comes that the one who waits is not waiting for.
  flood.end();
  for (let i = 0; i < 500; i++) {
    print();
    await nextTurn(); // equal notices that nobody has taken yet are one
  }
  expect(isWatched(folder)).toBe(true);
  quiet.end();
});

test("a watch that could not be had is tried again, not at each wait; the log says so once", () => {
  const folder = join(mkdtempSync(join(tmpdir(), "tmx-log-watch-")), "logs");
  const said: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void said.push(line) });
  let now = 0;
  const watch = new LogWatch(folder, log, () => now);
  onTestFinished(() => {
    watch.close();
    rmSync(dirname(folder), { recursive: true });
  });
  const wait = () => watch.listen(["any"]).end();
  now = 10_000;
  wait();
  mkdirSync(folder);
  now = 19_999;
  wait();
  expect(isWatched(folder)).toBe(false);
  now = 20_000;
  wait();
  expect(isWatched(folder)).toBe(true);
  expect(said).toEqual([expect.stringContaining("can't be watched")]);
});
