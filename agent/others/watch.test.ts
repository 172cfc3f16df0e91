import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BOARD_FOLDER } from "../../shared/agent/markers.ts";
import { thisProcess } from "../locks/alive.ts";
import { config } from "../testing/thread.ts";
import { Board } from "./board.ts";
import { OthersWatch } from "./watch.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "threadmux-test-"));
  for (const name of ["work", "board", "thread"]) mkdirSync(join(root, name));
  const note = { v: 1, threadId: "two", number: 2, title: "Other", workspace: join(root, "work") };
  const doing = { step: 1, doing: "Calling LLM", holds: [], holder: thisProcess() };
  writeFileSync(join(root, "board", "two.json"), JSON.stringify({ ...note, ...doing }));
});
afterEach(() => rmSync(root, { recursive: true }));

/** As each runner of the thread begins. */
function begin(): OthersWatch {
  const dir = join(root, "work");
  const options = {
    folder: join(root, "thread"),
    config: { ...config, dir },
    env: { [BOARD_FOLDER]: join(root, "board") },
  };
  return new OthersWatch(options, new Board(options));
}

test("whichever runner answers a hook says the same, and none says it again", () => {
  const first = begin();
  const told = first.takeNews("round 1")?.text;
  expect(told).toContain("#2 Other: running, step 1");
  first.save(); // killed here, it may have answered or not
  const second = begin();
  expect(second.takeNews("round 1")).toEqual({ text: told, events: [] });
  second.save();
  expect([second.takeNews("round 2"), begin().takeNews("round 2")]).toEqual([undefined, undefined]);
});

test("a runner that is killed before it has noted what it says leaves it to the next one", () => {
  const told = begin().takeNews("round 1")?.text;
  expect(begin().takeNews("round 1")?.text).toBe(told);
});
