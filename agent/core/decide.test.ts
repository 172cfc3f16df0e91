import { expect, test } from "vitest";
import { type EventBody, type ThreadEvent, toEvent } from "../../shared/agent/events.ts";
import { foldEvents } from "../../shared/agent/fold.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import type { EngineState } from "../engine.ts";
import { config, launch } from "../testing/thread.ts";
import { nextBatch } from "./batch.ts";
import { closingEvents } from "./closing.ts";
import { decide, type Running } from "./decide.ts";
import { inboxEvent } from "./inbox-events.ts";

const START = Date.parse("2026-11-22T10:00:00.000Z");
const state: EngineState = {
  generation: 1,
  isOpen: true,
  requests: {},
  received: [],
  isBusy: false,
  live: {},
};

function running(fields: Partial<Running> = {}): Running {
  return {
    launch,
    state,
    hasReadAll: true,
    sinceMs: START,
    idleSinceMs: START,
    outputBytes: 0,
    sent: new Map(),
    held: new Set(),
    refused: new Map(),
    isEnding: false,
    ...fields,
  };
}

const placed = (event: object) => toEvent(event) as ThreadEvent;

function fold(...bodies: EventBody[]): ThreadFold {
  return foldEvents(
    bodies.map((body, index) =>
      placed({ ...body, seq: index + 1, id: `r${index}.0`, ts: new Date(START).toISOString() }),
    ),
  );
}

const engine: EventBody = {
  type: "engine_start",
  generation: 1,
  engine: "claude",
  version: "2.1.330",
  sessionId: "s",
  model: "m",
  modeId: "default",
  resumed: false,
};
const message = (messageId: string, fields: object = {}): EventBody => ({
  type: "user_message",
  messageId,
  source: "discord:7",
  content: [{ type: "text", text: messageId }],
  ...fields,
});
const delivery = (deliveryId: string, ...messageIds: string[]): EventBody => ({
  type: "delivery",
  deliveryId,
  messageIds,
});
const taken = (deliveryId: string): EventBody => ({ type: "delivery_update", deliveryId, status: "started" });
const turn: EventBody = { type: "turn_start", turnId: "t1", cause: "message", deliveryIds: ["d1"] };
const kinds = (actions: readonly { do: string }[]) => actions.map((action) => action.do);

test("without work and engine the runner ends; with a message it starts the engine", () => {
  expect(kinds(decide(fold(), undefined, config, START))).toEqual(["exit"]);
  expect(kinds(decide(fold(message("m1")), undefined, config, START))).toEqual(["start"]);
});

test("an engine that has not opened in time is ended", () => {
  const closed = running({ state: { ...state, isOpen: false } });
  expect(decide(fold(message("m1")), closed, config, START + 121_000)).toMatchObject([
    { do: "end", reason: "crashed" },
  ]);
});

test("a message is sent before the engine has opened, unless something is to come before it", () => {
  const closed = (fields: Partial<Running> = {}) =>
    running({ state: { ...state, isOpen: false }, ...fields });
  const waiting = fold(message("m1"));
  expect(kinds(decide(waiting, closed(), config, START))).toEqual(["note"]);
  const noted = fold(message("m1"), delivery("d1", "m1"));
  expect(kinds(decide(noted, closed(), config, START))).toEqual(["deliver"]);
  expect(decide(noted, closed({ sent: new Map([["delivery d1", START]]) }), config, START)).toEqual([]);
  const mode = fold({ type: "control", op: "mode", by: "discord:7", modeId: "plan" }, message("m1"));
  for (const [given, engine] of [
    [waiting, { launch: { ...launch, takesUp: true } }],
    [waiting, { launch: { ...launch, reseeded: true } }],
    [noted, { hasReadAll: false }], // what an earlier runner has sent lies before it
    [mode, {}],
  ] as const) {
    expect(decide(given, closed(engine), config, START)).toEqual([]);
  }
});

test("messages are noted together, sent once, and the next ones wait until they are taken", () => {
  const both = fold(engine, message("m1"), message("m2"));
  const [note] = decide(both, running(), config, START);
  expect(note).toMatchObject({ do: "note", messages: [{ messageId: "m1" }, { messageId: "m2" }] });
  const noted = fold(engine, message("m1"), delivery("d1", "m1"), message("m2"));
  const [deliver] = decide(noted, running(), config, START);
  expect(deliver).toMatchObject({ do: "deliver", deliveryId: "d1" });
  const sent = running({ sent: new Map([["delivery d1", START]]) });
  expect(decide(noted, sent, config, START)).toEqual([]);
  const next = fold(engine, message("m1"), delivery("d1", "m1"), message("m2"), turn, taken("d1"));
  expect(decide(next, sent, config, START)).toMatchObject([{ do: "note", messages: [{ messageId: "m2" }] }]);
});

test("commands and plain texts go alone; a message for the next turn waits for it", () => {
  const plain = fold(message("m1"), message("m2", { plain: true }), message("m3"));
  expect(nextBatch(plain).map(({ messageId }) => messageId)).toEqual(["m1"]);
  const command = fold(message("/context"), message("m2"));
  expect(nextBatch(command).map(({ messageId }) => messageId)).toEqual(["/context"]);
  const later = fold(
    engine,
    message("m1"),
    delivery("d1", "m1"),
    turn,
    taken("d1"),
    message("m2", { when: "next_turn" }),
  );
  expect(nextBatch(later)).toEqual([]);
});

test("where each message has its source, people go first, and what waits for a turn's end goes alone", () => {
  const from = (id: string, source: string, more: object = {}) =>
    message(id, { source, handle: source, plain: true, ...more });
  const next = (...events: Parameters<typeof fold>) => nextBatch(fold(...events)).map((one) => one.messageId);
  const job = from("j1", "job:daily");
  const outside = from("w1", "job:hook", { when: "next_turn" });
  expect(next(job, from("p1", "discord:1"), outside, from("/p2", "discord:2"))).toEqual(["p1", "/p2"]);
  expect(next(outside, job, from("t1", "thread:a"))).toEqual(["j1", "t1"]);
  expect(next(outside, from("w2", "job:hook", { when: "next_turn" }))).toEqual(["w1"]);
});

test("hooks are let go on, unknown requests refused, each once", () => {
  const request = { toolCallId: "", isBeforeCall: false, byte: 0, bytes: 1 };
  const requests = {
    h: { ...request, requestId: "h", kind: "hook" as const },
    u: { ...request, requestId: "u", kind: "unknown" as const },
  };
  const asked = running({ state: { ...state, requests } });
  expect(kinds(decide(fold(engine), asked, config, START))).toEqual(["hook", "refuse"]);
  const sent = new Map([
    ["answer h", START],
    ["answer u", START],
  ]);
  expect(decide(fold(engine), { ...asked, sent }, config, START)).toEqual([]);
  const held = new Set(["h"]);
  expect(kinds(decide(fold(engine), { ...asked, held }, config, START))).toEqual(["refuse"]);
});

test("Stop is sent again until the turn has ended", () => {
  const stopped = fold(engine, message("m1"), delivery("d1", "m1"), turn, taken("d1"), {
    type: "control",
    op: "interrupt",
    by: "discord:7",
  });
  const key = "control 6";
  expect(decide(stopped, running(), config, START)).toMatchObject([{ do: "control", key }]);
  const sent = running({ sent: new Map([[key, START]]) });
  expect(decide(stopped, sent, config, START + 4_000)).toEqual([]);
  expect(kinds(decide(stopped, sent, config, START + 6_000))).toEqual(["control"]);
});

test("idle for long enough: the engine ends, but not while something runs in the background", () => {
  expect(decide(fold(engine), running(), config, START + 119_000)).toEqual([]);
  const end = decide(fold(engine), running(), config, START + 121_000);
  expect(end).toMatchObject([{ do: "end", reason: "idle", how: "gentle" }]);
  const busy = fold(engine, { type: "background_update", tasks: [{ taskId: "b", title: "server" }] });
  expect(decide(busy, running(), config, START + 121_000)).toEqual([]);
});

test("a cut-off turn had come to its end once the resumed engine says so, and not before, however long that takes", () => {
  const silent = fold(engine, message("m1"), delivery("d1", "m1"), taken("d1"));
  const resumed = running({ launch: { ...launch, resumed: true }, sent: new Map() });
  const LONG = START + 100_000;
  expect(decide(silent, { ...resumed, state: { ...state, isOpen: false } }, config, LONG)).toEqual([]);
  expect(decide(silent, resumed, config, LONG)).toEqual([]);
  const begins = { ...resumed, state: { ...state, isBusy: true } };
  expect(decide(silent, begins, config, LONG)).toEqual([]);
  const [append] = decide(silent, { ...resumed, state: { ...state, takesUpNothing: true } }, config, START);
  expect(append).toMatchObject({
    do: "append",
    bodies: [
      { type: "turn_start", cause: "resume" },
      { type: "turn_end" },
      { type: "delivery_update", status: "completed" },
    ],
  });
});

test("closing leaves nothing open but asks, and closing twice adds nothing", () => {
  const call: EventBody = {
    type: "tool_call",
    toolCallId: "c1",
    at: "u",
    name: "Bash",
    title: "Bash ls",
    kind: "execute",
    rawInput: {},
  };
  const step: EventBody = { type: "step_start", stepId: "s1", kind: "chat", title: "Calling LLM" };
  const open = [engine, message("m1"), delivery("d1", "m1"), turn, taken("d1"), step, call];
  const closing = closingEvents(fold(...open), { generation: 1, reason: "crashed" }, START);
  const closed = fold(...open, ...closing);
  expect(closed).toMatchObject({ turn: null, steps: [], toolCalls: [], endedGeneration: 1 });
  expect(closed.cutOffs.at).not.toBeNull();
  expect(closingEvents(closed, { generation: 1, reason: "crashed" }, START)).toEqual([]);
});

test("a turn that was cut off and then stopped has ended: no engine is started for it, and the next one is not stopped", () => {
  const open = [engine, message("m1"), delivery("d1", "m1"), turn, taken("d1")];
  const crash = { generation: 1, reason: "crashed" } as const;
  const stop: EventBody = { type: "control", op: "interrupt", by: "discord:7" };
  const cutOff = [...open, ...closingEvents(fold(...open), crash, START), stop];
  expect(decide(fold(...cutOff), undefined, config, START)).toEqual([{ do: "close" }]);
  const closing = closingEvents(fold(...cutOff), crash, START);
  expect(closing).toMatchObject([
    { type: "turn_start", cause: "resume", deliveryIds: ["d1"] },
    { type: "turn_end", stopReason: "cancelled" },
    { type: "delivery_update", deliveryId: "d1", status: "completed" },
  ]);
  const stopped = fold(...cutOff, ...closing);
  expect(stopped).toMatchObject({
    turn: null,
    deliveries: [],
    cutOffs: { at: null },
    pending: { interrupt: null },
  });
  expect(decide(stopped, undefined, config, START)).toEqual([{ do: "exit" }]);
});

test("what can't be read in the inbox is told; a message that came twice counts once", () => {
  const same = <T>(line: T) => line;
  expect(inboxEvent("{", fold(), false, same)).toMatchObject({ type: "notice", severity: "warning" });
  const content = [{ type: "text", text: "x" }];
  const line = {
    ts: "2026-11-22T10:00:00.000Z",
    op: "message",
    messageId: "m1",
    source: "discord:7",
    content,
  };
  expect(inboxEvent(JSON.stringify(line), fold(), false, same)).toMatchObject({ type: "user_message" });
  expect(inboxEvent(JSON.stringify(line), fold(message("m1")), false, same)).toMatchObject({
    type: "notice",
  });
});

test("a delivery that the engine says it holds is not sent again by the next runner", () => {
  const noted = fold(engine, message("a"), { type: "delivery", deliveryId: "d", messageIds: ["a"] });
  const next = (received: string[]) =>
    decide(noted, running({ state: { ...state, received } }), config, START).map((action) => action.do);
  expect(next([])).toEqual(["deliver"]);
  expect(next(["d"])).toEqual([]);
});
