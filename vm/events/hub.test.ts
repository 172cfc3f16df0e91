import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type HubEvent, hubEventSchema } from "../../shared/hub-events.ts";
import { SseParser } from "../../shared/sse.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { aThreadId } from "../../test/support/ids.ts";
import { until } from "../../test/support/wait.ts";
import { openStore, type Store } from "../store/store.ts";
import { type EventFilter, EventHub } from "./hub.ts";

let folder: ReturnType<typeof makeFolder>;
let store: Store;
let hub: EventHub;
const sizes = new Map<string, number>();

const transcript = (threadId: string) => join(folder.path, threadId, "transcript.jsonl");

beforeEach(() => {
  folder = makeFolder();
  store = openStore(":memory:");
  store.events.beginAt(1_000);
  sizes.clear();
  hub = makeHub();
});
afterEach(() => {
  hub.close();
  store.close();
  folder.remove();
});

function makeHub(limits: { lookMs?: number; maxReaders?: number } = {}): EventHub {
  const origin = { threadId: aThreadId("x1"), seq: 7 };
  const makingOf = (threadId: string) =>
    threadId === "x1" ? { directive: "reviewer" } : threadId === "branch" ? { origin } : {};
  const tagsOf = (threadId: string) => (threadId.startsWith("x") ? ["ci"] : []);
  return new EventHub({ store, transcript, tagsOf, makingOf, log: pino({ level: "silent" }), ...limits });
}

/** A line of a transcript, stored as the sidecar stores it. */
function write(threadId: string, type: string, text = ""): void {
  const line = `${JSON.stringify({ type, text })}\n`;
  const byte = sizes.get(threadId) ?? 0;
  mkdirSync(dirname(transcript(threadId)), { recursive: true });
  appendFileSync(transcript(threadId), line);
  const bytes = Buffer.byteLength(line);
  sizes.set(threadId, byte + bytes);
  store.events.add(aThreadId(threadId), type, { byte, bytes });
}

/** A reader whose sink takes all, unless it is told to be full. */
function read(
  options: { since?: number; filter?: EventFilter; isFull?: () => boolean; from?: EventHub } = {},
) {
  const { since, filter = {}, isFull = () => false, from = hub } = options;
  const parser = new SseParser();
  const got = { events: [] as HubEvent[], resets: [] as number[], lastId: "", bytes: 0, hasEnded: false };
  const sink = {
    write: (bytes: Buffer) => {
      got.bytes += bytes.length;
      for (const { id, type, data } of parser.push(bytes.toString())) {
        got.lastId = id;
        if (type === "reset") got.resets.push(Number(id));
        else if (data !== "") got.events.push(hubEventSchema.parse(JSON.parse(data)));
      }
      return !isFull();
    },
    end: () => {
      got.hasEnded = true;
    },
  };
  return { ...from.add({ since, filter }, sink), got };
}

const idsOf = ({ got }: ReturnType<typeof read>) => got.events.map(({ id }) => id);
const settled = async () => {
  for (let i = 0; i < 50; i++) await setImmediate();
};

test("each reader gets all after the id that it has, in one order, once", async () => {
  for (let i = 0; i < 5_000; i++) write(`t${i % 7}`, "plan", "x".repeat(1_000));
  const all = Array.from({ length: 6_000 }, (_, i) => 1_001 + i);
  const readers = [0, 1_000, 1_001, 3_500, 6_000].map((since) => ({ since, reader: read({ since }) }));
  const fresh = read();
  for (let i = 5_000; i < 6_000; i++) write(`t${i % 7}`, "plan", String(i));
  await until("all to be read", () =>
    [...readers.map(({ reader }) => reader), fresh].every(({ got }) => got.lastId === "7000"),
  );
  for (const { since, reader } of readers) expect(idsOf(reader)).toEqual(all.filter((id) => id > since));
  expect(idsOf(fresh)).toEqual(all.slice(5_000));
  expect(fresh.got.events.at(-1)).toEqual({
    id: 7_000,
    threadId: `t${5_999 % 7}`,
    type: "plan",
    event: { type: "plan", text: "5999" },
  });
});

test("what came when the only reader had just left is there for the next", async () => {
  const first = read();
  await settled();
  write("a", "plan");
  first.onGone();
  await settled();
  const next = read({ since: 1_000 });
  await until("it to be read", () => idsOf(next).length === 1);
});

test("by thread, type and tag", async () => {
  const readers = {
    thread: read({ filter: { threads: new Set(["a"]) } }),
    type: read({ filter: { types: new Set(["turn_end", "plan"]) } }),
    tag: read({ filter: { tags: new Set(["ci", "other"]) } }),
    all: read({ filter: { threads: new Set(["a"]), types: new Set(["plan"]), tags: new Set(["ci"]) } }),
  };
  write("a", "plan");
  write("x", "turn_end");
  write("x", "notice");
  await settled();
  expect(idsOf(readers.thread)).toEqual([1_001]);
  expect(idsOf(readers.type)).toEqual([1_001, 1_002]);
  expect(idsOf(readers.tag)).toEqual([1_002, 1_003]);
  expect(idsOf(readers.all)).toEqual([]);
});

test("an id that is too old, or was never given, is told; all that is kept follows", async () => {
  write("a", "plan");
  const readers = [999, 5_000].map((since) => read({ since }));
  await settled();
  for (const reader of readers) {
    expect(reader.got.resets).toEqual([1_000]);
    expect(idsOf(reader)).toEqual([1_001]);
  }
});

// Promise: R3, S42
test("who is full gets no more until it has taken that, and is cut off if it takes too long", async () => {
  for (let i = 0; i < 1_000; i++) write("a", "plan", "x".repeat(1_000));
  let isFull = true;
  let slow = read({ since: 0, isFull: () => isFull });
  await settled();
  expect(slow.got.bytes).toBeLessThan(200);
  isFull = false;
  slow.onDrain();
  await until("the rest", () => idsOf(slow).length === 1_000);
  hub.close();
  hub = makeHub({ lookMs: 20 });
  slow = read({ since: 2_000, isFull: () => isFull });
  isFull = true;
  const bytes = slow.got.bytes;
  for (let i = 0; i < 1_000; i++) write("a", "plan", "x".repeat(1_000));
  await until("it to be cut off", () => slow.got.hasEnded);
  expect(slow.got.bytes - bytes).toBeLessThan(140_000);
  expect([hub.dropped, hub.readers]).toEqual([1, 0]);
});

test("who is behind gets nothing of a thread that took the place of a removed one", async () => {
  for (let i = 0; i < 4_000; i++) write(i % 2 ? "old" : "other", "plan", "x".repeat(500));
  let isFull = false;
  const slow = read({ since: 0, isFull: () => isFull });
  await until("some of it", () => slow.got.events.length > 0);
  isFull = true;
  await settled();
  store.transaction(() => {
    store.events.removeThread(aThreadId("old"));
    store.events.addOwn(aThreadId("old"), { type: "thread_removed" });
  });
  writeFileSync(
    transcript("old"),
    `${JSON.stringify({ type: "plan", text: "n".repeat(500) })}\n`.repeat(2_000),
  );
  isFull = false;
  slow.onDrain();
  await until("the rest", () => slow.got.lastId === "5001");
  expect(slow.got.events.filter(({ event }) => String(event?.["text"]).startsWith("n"))).toEqual([]);
});

test("who hears nothing gets a sign of life, with how far it came", async () => {
  hub.close();
  hub = makeHub({ lookMs: 20 });
  const reader = read({ filter: { threads: new Set(["a"]) } });
  write("b", "plan");
  await until("a sign of life", () => reader.got.lastId === "1001");
  expect(reader.got.events).toEqual([]);
});

// Promise: R3, S42
test("no more readers than there may be", () => {
  hub.close();
  hub = makeHub({ maxReaders: 2 });
  const first = read();
  read();
  expect(() => read()).toThrow("2 readers");
  first.onGone();
  expect(() => read()).not.toThrow();
});

// Promise: S42
test("a transcript that was removed, or written to by somebody else, breaks nothing", async () => {
  write("gone", "plan");
  write("torn", "plan", "xxxx");
  write("folder", "plan");
  write("pipe", "plan");
  write("whole", "plan");
  for (const name of ["folder", "pipe"]) rmSync(transcript(name));
  mkdirSync(transcript("folder"));
  execFileSync("mkfifo", [transcript("pipe")]);
  rmSync(dirname(transcript("gone")), { recursive: true });
  writeFileSync(transcript("torn"), "\n\ndata: forged\n\n".padEnd(sizes.get("torn") ?? 0, " "));
  const reader = read({ since: 0 });
  await settled();
  expect(reader.got.events).toEqual([
    { id: 1_001, threadId: "gone", type: "plan", event: null },
    { id: 1_002, threadId: "torn", type: "plan", event: null },
    { id: 1_003, threadId: "folder", type: "plan", event: null },
    { id: 1_004, threadId: "pipe", type: "plan", event: null },
    { id: 1_005, threadId: "whole", type: "plan", event: { type: "plan", text: "" } },
  ]);
});

test("nothing is told of a transaction that failed", async () => {
  const reader = read();
  const fail = () =>
    store.transaction(() => {
      store.events.addOwn(aThreadId("a"), { type: "thread_removed" });
      throw new Error("no room");
    });
  expect(fail).toThrow("no room");
  await settled();
  store.events.addOwn(aThreadId("b"), { type: "thread_removed" });
  await until("the next one", () => reader.got.events.length > 0);
  expect(reader.got.events.map(({ threadId }) => threadId)).toEqual(["b"]);
});

test("an event tells the directive that its thread was made by, and where a branch left the other one", async () => {
  const { got } = read({ since: 1_000 });
  for (const id of ["x1", "branch", "plain"]) write(id, "turn_end");
  await until("all three", () => got.events.length === 3);
  expect(got.events.map(({ threadId, directive, origin }) => [threadId, directive, origin])).toEqual([
    ["x1", "reviewer", undefined],
    ["branch", undefined, { threadId: "x1", seq: 7 }],
    ["plain", undefined, undefined],
  ]);
});
