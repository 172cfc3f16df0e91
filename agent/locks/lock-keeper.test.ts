import { closeSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type EventBody, type ThreadEvent, toEvent } from "../../shared/agent/events.ts";
import { emptyFold, foldEvent } from "../../shared/agent/fold.ts";
import { LOCK_FOLDER } from "../../shared/agent/markers.ts";
import { engineInputPath } from "../../shared/agent/paths.ts";
import { aThreadId } from "../../test/support/ids.ts";
import type { OpenRequest } from "../engine.ts";
import { makeFifo, openForEngine } from "../process/fifo.ts";
import { config, launch } from "../testing/thread.ts";
import { LockKeeper } from "./lock-keeper.ts";

const START = Date.parse("2026-11-22T10:00:00.000Z");

/** A thread whose engine calls what the test says: its transcript is a list, its clock the test's. */
class Thread {
  fold = emptyFold();
  readonly seat = {
    launch,
    state: {
      generation: 1,
      isOpen: true,
      requests: {} as Record<string, OpenRequest>,
      received: [],
      isBusy: true,
      live: {},
    },
    hasReadAll: true,
    sinceMs: START,
    idleSinceMs: START,
    outputBytes: 0,
    sent: new Map<string, number>(),
    held: new Set<string>(),
    refused: new Map<string, string>(),
    isEnding: false,
  };
  readonly keeper: LockKeeper;
  readonly #engine: number;

  constructor(root: string, number: number) {
    const folder = join(root, `thread-${number}`);
    mkdirSync(folder);
    const fifo = engineInputPath(folder, 1);
    makeFifo(fifo);
    this.#engine = openForEngine(fifo);
    const own = { ...config, threadId: aThreadId(`t${number}`), number, dir: join(root, "work") };
    this.keeper = new LockKeeper({ folder, config: own, env: { [LOCK_FOLDER]: join(root, "locks") } }, this);
    this.append(null, [{ type: "turn_start", turnId: "t", cause: "message", deliveryIds: [] }]);
  }

  append(_source: null, bodies: readonly EventBody[]): void {
    for (const body of bodies) {
      const seq = this.fold.seq + 1;
      const ts = new Date(nowMs).toISOString();
      this.fold = foldEvent(this.fold, toEvent({ ...body, seq, id: `r${seq}.0`, ts }) as ThreadEvent);
    }
  }

  /** The engine asks before a call that writes this file. */
  call(path: string): void {
    const toolCallId = `call-${path}`;
    const call = { side: "before" as const, kind: "edit" as const, path };
    const body = { at: "u", name: "Edit", title: `Edit ${path}`, kind: call.kind, rawInput: {} };
    this.append(null, [{ type: "tool_call", toolCallId, ...body }]);
    const request = {
      requestId: path,
      kind: "hook" as const,
      toolCallId,
      isBeforeCall: true,
      call,
      byte: 0,
      bytes: 1,
    };
    this.seat.state.requests[path] = request;
  }

  /** As the runner's loop does: what may go on is told so. @returns what each request waits for, or was told */
  look(): void {
    this.seat.held.clear();
    this.keeper.look(this.seat, nowMs);
    for (const requestId of Object.keys(this.seat.state.requests)) {
      if (!this.seat.held.has(requestId)) this.seat.sent.set(`answer ${requestId}`, nowMs);
    }
  }

  /** What became of a call's request. */
  outcome(path: string): string {
    if (this.seat.held.has(path)) return "waits";
    return this.seat.refused.get(path) ?? "runs";
  }

  endCall(path: string): void {
    this.append(null, [{ type: "tool_call_update", toolCallId: `call-${path}`, status: "completed" }]);
  }

  close(): void {
    closeSync(this.#engine);
  }
}

let root: string;
let nowMs: number;
let one: Thread;
let two: Thread;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "threadmux-test-"));
  mkdirSync(join(root, "work"));
  nowMs = START;
  [one, two] = [new Thread(root, 1), new Thread(root, 2)];
});
afterEach(() => {
  for (const thread of [one, two]) thread.close();
  rmSync(root, { recursive: true });
});

const look = () => {
  for (const thread of [one, two]) thread.look();
};
const locks = () => readdirSync(join(root, "locks"));

test("two that have a file and want each other's are told so when their time is over, and both go on", () => {
  one.call("a");
  two.call("b");
  look();
  // Calls of sub-agents run side by side: the first ones have not ended.
  one.call("b");
  two.call("a");
  look();
  expect([one.outcome("b"), two.outcome("a")]).toEqual(["waits", "waits"]);
  expect(one.fold.steps).toMatchObject([{ kind: "lock", title: "Awaiting file lock on b (#2)" }]);
  nowMs += 29_000;
  look();
  expect([one.outcome("b"), two.outcome("a")]).toEqual(["waits", "waits"]);
  nowMs += 2_000;
  look();
  expect(one.outcome("b")).toBe(
    "b is being edited by #2 since 10:00:00 UTC (31 s). Gave up after 30 s, nothing was written. Work on something else first, or try again.",
  );
  expect(two.outcome("a")).toMatch(/^a is being edited by #1 since 10:00:00 UTC/);
  expect([one.fold.steps, two.fold.steps]).toEqual([[], []]);
  // Only what they have is left, and that goes with its calls.
  expect(locks()).toHaveLength(2);
  one.endCall("a");
  two.endCall("b");
  look();
  expect(locks()).toEqual([]);
});

test("a call's file is free as soon as it has ended, and the one that waits has it", () => {
  one.call("a");
  two.call("a");
  look();
  expect([one.outcome("a"), two.outcome("a")]).toEqual(["runs", "waits"]);
  one.endCall("a");
  look();
  expect(two.outcome("a")).toBe("runs");
  expect(two.fold.steps).toEqual([]);
  two.keeper.look(undefined, nowMs); // its engine is gone
  expect(locks()).toEqual([]);
});

test("the next runner gives up where the last one would have, and refuses what that had refused", () => {
  one.call("a");
  two.call("a");
  look();
  const stepId = two.fold.steps[0]?.stepId ?? "";
  two.append(null, [{ type: "step_end", stepId, status: "failed", durationMs: 1 }]);
  look();
  expect(two.outcome("a")).toMatch(/^a was being edited by another thread for too long/);
});
