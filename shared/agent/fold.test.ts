import { expect, test } from "vitest";
import { findFastGrowth } from "../../test/support/growth.ts";
import { aThreadId } from "../../test/support/ids.ts";
import { type EventBody, type ThreadEvent, toEvent } from "./events.ts";
import { awaitingOf, emptyFold, foldEvent, foldEvents, statusOf } from "./fold.ts";
import { findAsk, isParked } from "./fold-asks.ts";
import { expandsNothing } from "./fold-messages.ts";
import { nextStep } from "./rescue.ts";

const START = Date.parse("2026-11-22T10:00:00.000Z");

const placed = (event: object) => toEvent(event) as ThreadEvent;

/** Events a second apart, numbered. */
function events(...bodies: (EventBody & { id?: string })[]): ThreadEvent[] {
  return bodies.map(({ id, ...body }, index) =>
    placed({
      ...body,
      seq: index + 1,
      id: id ?? `r${index}.0`,
      ts: new Date(START + index * 1_000).toISOString(),
    }),
  );
}

const config = { engine: "claude" };
const start: EventBody = {
  type: "thread_start",
  v: 1,
  threadId: aThreadId("t"),
  createdBy: "discord:7",
  config,
};
const engine = (generation: number, resumed = false): EventBody => ({
  type: "engine_start",
  generation,
  engine: "claude",
  version: "2.1.330",
  sessionId: "s",
  model: "m",
  modeId: "default",
  resumed,
});
const message = (messageId: string): EventBody => ({
  type: "user_message",
  messageId,
  source: "discord:7",
  content: [{ type: "text", text: messageId }],
});
const ask = (requestId: string, replaces?: string): EventBody => ({
  type: "permission_request",
  requestId,
  toolCallId: "c1",
  toolName: "Bash",
  callKey: "k",
  input: "{}",
  title: "Bash npm test",
  options: [
    { optionId: "once", name: "Allow once", kind: "allow_once" },
    { optionId: "thread", name: "Allow npm test", kind: "allow_always", rule: "Bash(npm test)" },
  ],
  ...(replaces && { replaces }),
});
const turn: EventBody[] = [
  start,
  engine(1),
  message("m1"),
  { type: "delivery", deliveryId: "d1", messageIds: ["m1"] },
  { type: "turn_start", turnId: "t1", cause: "message", deliveryIds: ["d1"] },
  { type: "delivery_update", deliveryId: "d1", status: "started" },
];
const end: EventBody[] = [
  { type: "turn_end", turnId: "t1", stopReason: "end_turn", usage: { inputTokens: 10, outputTokens: 2 } },
  { type: "delivery_update", deliveryId: "d1", status: "completed" },
];
const crash: EventBody[] = [
  { type: "turn_end", turnId: "t1", stopReason: "interrupted" },
  { type: "engine_end", generation: 1, reason: "crashed" },
];

test("a turn: running until it has ended, then idle", () => {
  const running = foldEvents(events(...turn));
  expect(statusOf(running)).toBe("running");
  expect(running.deliveries).toMatchObject([{ deliveryId: "d1", status: "started" }]);
  const idle = foldEvents(events(...turn, ...end));
  expect(statusOf(idle)).toBe("idle");
  expect(nextStep(idle, START)).toBe("rest");
  expect(idle).toMatchObject({
    turnCount: 1,
    deliveries: [],
    totals: { turns: 1, usage: { inputTokens: 10 } },
  });
});

test("an ask: waiting until it is answered, and its rule is kept", () => {
  const asked = foldEvents(events(...turn, ask("q1")));
  expect([statusOf(asked), awaitingOf(asked)]).toEqual(["waiting", "permission"]);
  const answer: EventBody = {
    type: "permission_response",
    requestId: "q1",
    outcome: "selected",
    optionId: "thread",
  };
  const answered = foldEvents(events(...turn, ask("q1"), answer));
  expect(statusOf(answered)).toBe("running");
  expect(answered.grantedRules).toEqual(["Bash(npm test)"]);
});

test("an ask that is open when the engine dies is parked; its answer takes the turn up, whenever it comes", () => {
  const parked = foldEvents(events(...turn, ask("q1"), ...crash));
  expect(statusOf(parked)).toBe("waiting");
  expect(parked.asks.map((open) => isParked(parked, open))).toEqual([true]);
  expect(parked.cutOffs.count).toBe(0);
  const nextDay = START + 86_400_000;
  expect(nextStep(parked, nextDay)).toBe("rest");
  const answer: EventBody = {
    type: "permission_response",
    requestId: "q1",
    outcome: "selected",
    optionId: "once",
  };
  const answered = foldEvents(events(...turn, ask("q1"), ...crash, answer));
  expect(nextStep(answered, nextDay)).toBe("engine");
  expect(answered.recordedAnswers).toMatchObject([{ callKey: "k", response: { optionId: "once" } }]);
});

test("an ask that is asked again stands for the old one: an answer to either counts", () => {
  const again = foldEvents(events(...turn, ask("q1"), ...crash, engine(2, true), ask("q2", "q1")));
  expect(again.asks).toHaveLength(1);
  expect(findAsk(again, "q1")?.requestId).toBe("q2");
});

test("a cut-off turn is taken up three times and only within ten minutes", () => {
  const cut = foldEvents(events(...turn, ...crash));
  expect(statusOf(cut)).toBe("running");
  expect(nextStep(cut, START + 60_000)).toBe("engine");
  expect(nextStep(cut, START + 11 * 60_000)).toBe("give_up");
  const rescue: EventBody[] = [
    engine(2, true),
    { type: "turn_start", turnId: "t2", cause: "resume", deliveryIds: [] },
    { type: "turn_end", turnId: "t2", stopReason: "interrupted" },
    { type: "engine_end", generation: 2, reason: "crashed" },
  ];
  const third = foldEvents(events(...turn, ...crash, ...rescue, ...rescue));
  expect(nextStep(third, START + 60_000)).toBe("engine");
  const fourth = [...turn, ...crash, ...rescue, ...rescue, ...rescue];
  expect(nextStep(foldEvents(events(...fourth)), START + 60_000)).toBe("give_up");
  const failed: EventBody[] = [...fourth, { type: "failure", code: "cut_off", message: "…" }];
  expect(statusOf(foldEvents(events(...failed)))).toBe("failed");
  const goOn: EventBody = { type: "control", op: "resume", by: "discord:7" };
  expect(nextStep(foldEvents(events(...failed, goOn)), START + 60_000)).toBe("engine");
});

test("a stop of a turn that was cut off means what goes on with it, and no later turn", () => {
  const stop = (turnId: string): EventBody => ({ type: "control", op: "interrupt", by: "discord:7", turnId });
  const goesOn: EventBody[] = [
    engine(2, true),
    { type: "turn_start", turnId: "t2", cause: "resume", deliveryIds: [] },
  ];
  const again: EventBody[] = [{ type: "turn_end", turnId: "t2", stopReason: "interrupted" }];
  const stopped = (...bodies: EventBody[]) => foldEvents(events(...bodies)).pending.interrupt !== null;
  expect(stopped(...turn, ...crash, stop("t1"))).toBe(true);
  expect(stopped(...turn, ...crash, stop("t0"))).toBe(false);
  expect(stopped(...turn, ...crash, ...goesOn, stop("t1"))).toBe(true);
  expect(stopped(...turn, ...crash, ...goesOn, ...again, stop("t1"))).toBe(true);
  const ended: EventBody[] = [{ type: "turn_end", turnId: "t2", stopReason: "end_turn" }];
  const next: EventBody[] = [{ type: "turn_start", turnId: "t3", cause: "message", deliveryIds: [] }];
  expect(stopped(...turn, ...crash, ...goesOn, ...ended, stop("t1"))).toBe(false);
  expect(stopped(...turn, ...crash, ...goesOn, ...ended, ...next, stop("t1"))).toBe(false);
});

test("a turn that ends well ends the failure of the one before; one that a person stopped does not", () => {
  const turnOf = (turnId: string, stopReason: "error" | "end_turn" | "cancelled"): EventBody[] => [
    { type: "turn_start", turnId, cause: "message", deliveryIds: [] },
    { type: "turn_end", turnId, stopReason },
  ];
  const after = (...ends: ("error" | "end_turn" | "cancelled")[]) =>
    statusOf(foldEvents(events(start, engine(1), ...ends.flatMap((end, at) => turnOf(`t${at}`, end)))));
  expect(after("error", "cancelled")).toBe("failed");
  expect(after("error", "end_turn")).toBe("idle");
  expect(after("end_turn", "error")).toBe("failed");
});

test("edits and withdrawals count until a delivery holds the message", () => {
  const edit: EventBody = {
    type: "message_edit",
    messageId: "m1",
    by: "discord:7",
    applied: true,
    content: [{ type: "text", text: "new" }],
  };
  const edited = foldEvents(events(start, message("m1"), edit));
  expect(edited.messages).toMatchObject([{ messageId: "m1", content: [{ text: "new" }], plain: false }]);
  // Words of a file, or of a program, in a person's message are not what the person typed.
  for (const more of [{ plain: true }, { by: "caller:bot" }]) {
    const fold = foldEvents(events(start, message("m1"), { ...edit, ...more } as EventBody));
    expect(fold.messages.map(expandsNothing)).toEqual([true]);
  }
  const withdrawn: EventBody = { type: "message_withdraw", messageId: "m1", by: "discord:7", applied: true };
  expect(statusOf(foldEvents(events(start, message("m1"), withdrawn)))).toBe("idle");
});

test("pause and kill rest, whatever waits", () => {
  for (const op of ["pause", "kill"] as const) {
    const fold = foldEvents(
      events(...turn, ...crash, message("m2"), { type: "control", op, by: "discord:7" }),
    );
    expect(statusOf(fold)).toBe(op === "pause" ? "paused" : "killed");
    expect(nextStep(fold, START)).toBe("rest");
  }
});

test("the fold goes on from a stored one, and knows the last ids of both sources", () => {
  const all = events(...turn, ...end).map((event, i) => ({
    ...event,
    id: i % 2 ? `e1-${i * 10}.1` : `i${i}.0`,
  }));
  const whole = foldEvents(all);
  const half = JSON.parse(JSON.stringify(foldEvents(all.slice(0, 4))));
  expect(all.slice(4).reduce(foldEvent, half)).toEqual(whole);
  expect(whole.lastEngineId).toEqual({ generation: 1, byte: 70, n: 1 });
  expect(foldEvents([], emptyFold())).toEqual(emptyFold());
});

test("another agent's message counts hops, and sets nothing going that failed; held, it stands beside the work", () => {
  const fold = (...bodies: EventBody[]) => foldEvents(events(...bodies));
  const from = (messageId: string, more: object): EventBody => ({
    ...(message(messageId) as EventBody<"user_message">),
    source: "thread:other",
    ...more,
  });
  const failed = { type: "failure", code: "cut_off", message: "x" } as const;
  const one = fold(...turn, failed, from("a", { hops: 3 }));
  expect(one).toMatchObject({ hops: 3, failure: { code: "cut_off" } });
  expect(fold(...turn, failed, from("a", { hops: 3 }), message("m2"))).toMatchObject({
    hops: 0,
    failure: null,
  });
  const about = { ...(ask("held-a") as EventBody<"permission_request">), toolCallId: "", heldMessageId: "a" };
  const options = [{ optionId: "let_in", name: "Let it in", kind: "allow_once" as const }];
  const held = [...turn, from("a", { hops: 9, held: "hops" }), { ...about, options }];
  const before = fold(...turn);
  expect(statusOf(fold(...held))).toBe(statusOf(before));
  expect(fold(...held)).toMatchObject({ messages: before.messages, held: [{ messageId: "a" }] });
  const answer = { type: "permission_response", requestId: "held-a", outcome: "selected" } as const;
  const letIn = fold(...held, { ...answer, optionId: "let_in", by: "discord:7" });
  expect(letIn).toMatchObject({ hops: 0, held: [], asks: [], recordedAnswers: [] });
  expect(letIn.messages.map(({ messageId }) => messageId)).toContain("a");
  const dropped = fold(...held, { ...answer, optionId: "drop", by: "discord:7" });
  expect(dropped).toMatchObject({ held: [], asks: [], messages: before.messages });
});

test("however many calls and steps an engine leaves open, each event costs the same, and the fold stays small", () => {
  const call = (id: number): EventBody => ({
    type: "tool_call",
    toolCallId: `c${id}`,
    at: "a",
    name: "Bash",
    title: `Bash ${id}`,
    kind: "execute",
    rawInput: {},
  });
  const step = (id: number): EventBody => ({
    type: "step_start",
    stepId: `s${id}`,
    kind: "chat",
    title: "x",
  });
  for (const make of [call, step]) {
    const of = (count: number) => events(...turn, ...Array.from({ length: count }, (_, id) => make(id)));
    expect(
      findFastGrowth({ name: make.name, make: of }, foldEvents, [1_000, 10_000, 100_000]),
    ).toBeUndefined();
    const folded = foldEvents(of(2_000));
    expect(JSON.stringify(folded).length).toBeLessThan(64 * 1024);
    expect([...folded.toolCalls, ...folded.steps].at(-1)?.title).toBe(make === call ? "Bash 1999" : "x");
  }
  const lock: EventBody = { type: "step_start", stepId: "lock-c", kind: "lock", title: "a file" };
  const waits = foldEvents(events(...turn, lock, ...Array.from({ length: 2_000 }, (_, id) => step(id))));
  expect(waits.steps[0]?.stepId).toBe("lock-c");
});

test("the clock stands while a turn waits for a child, and runs while another call of it works", () => {
  const call = (toolCallId: string, name: string): EventBody & { id: string } => ({
    id: `e1-${toolCallId}.0`,
    type: "tool_call",
    toolCallId,
    at: "a",
    name,
    title: name,
    kind: "other",
    rawInput: {},
  });
  const end = (toolCallId: string): EventBody & { id: string } => ({
    id: `e1-9${toolCallId}.0`,
    type: "tool_call_update",
    toolCallId,
    status: "completed",
  });
  const begun = turn.map((body) => (body.type === "turn_start" ? { ...body, id: "e1-5.0" } : body));
  const spawned: EventBody = {
    type: "thread_spawned",
    threadId: aThreadId("c"),
    mode: "await",
    title: "Part",
    toolCallId: "11",
  };
  const waits = [...begun, call("11", "mcp__threadmux__spawn_thread"), spawned];
  const msAfter = (...bodies: (EventBody & { id?: string })[]) =>
    foldEvents(events(...bodies)).clock.ms - foldEvents(events(...begun)).clock.ms;
  const wait = { type: "notice", severity: "info", title: "x", id: "e1-20.0" } as const;
  const untilCall = msAfter(...begun, call("11", "x"));
  expect(foldEvents(events(...waits)).clock.since).toBeNull();
  expect(msAfter(...waits, wait, wait, end("11"))).toBe(untilCall);
  expect(msAfter(...waits, wait, wait, end("11"), wait)).toBe(untilCall + 1_000);
  expect(msAfter(...waits, call("12", "Bash"), wait, wait)).toBe(untilCall + 2_000);
});

test("what is asked to be undone at once is undone one after the other; one that is done leaves out those before it", () => {
  const undo = (turnId: string): EventBody => ({ type: "control", op: "undo", by: "discord:7", turnId });
  const done = (seq: number): EventBody => ({
    ...{
      type: "undo",
      undoId: seq % 2 ? `u${seq}` : `u12-${seq}`,
      target: "t",
      by: "discord:7",
      status: "completed",
    },
    ...{ files: 0, restored: [], left: [], leftCount: 0 },
  });
  const waiting = (...bodies: EventBody[]) => {
    const { pending, laterUndos = [] } = foldEvents(events(start, ...bodies));
    return [pending.undo, ...laterUndos].map((one) => one?.turnId);
  };
  const three = [undo("a"), undo("b"), undo("c")];
  expect(waiting(...three)).toEqual(["a", "b", "c"]);
  expect(waiting(...three, done(2))).toEqual(["b", "c"]);
  expect(waiting(...three, done(2), done(3))).toEqual(["c"]);
  // A transcript of a threadmux that knew the last one alone.
  expect(waiting(...three, done(4))).toEqual([undefined]);
  expect(foldEvents(events(start, ...three, done(4)))).not.toHaveProperty("laterUndos");
});
