/** Engines, models and tool servers may name tools, calls and asks like a property that every JavaScript object has. */
import { expect, test } from "vitest";
import { type EventBody, toEvent } from "../../shared/agent/events.ts";
import { emptyFold, foldEvent } from "../../shared/agent/fold.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import type { TranslateContext } from "../engine.ts";
import { config, launch } from "../testing/thread.ts";
import { type FromAdapter, fromAdapter } from "./acp/protocol.ts";
import { beginAcp } from "./acp/state.ts";
import { translateAcp } from "./acp/translate.ts";
import { beginClaude } from "./claude/state.ts";
import { translateClaude } from "./claude/translate.ts";

const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "isPrototypeOf"];
const context: TranslateContext = { fold: emptyFold(), launch, config, nowMs: 1_000 };

interface Step<State> {
  state: State;
  events: EventBody[];
}

/** Translates the lines. Each event is written as JSON and read back, as the transcript does. */
function told<State>(
  lines: readonly object[],
  begin: State,
  step: (state: State, text: string, line: { byte: number; bytes: number; text: string }) => Step<State>,
) {
  let state = begin;
  let byte = 0;
  const events = lines.flatMap((said) => {
    const text = JSON.stringify(said);
    const after = step(state, text, { byte, bytes: text.length + 1, text });
    byte += text.length + 1;
    state = after.state;
    return after.events;
  });
  const read = events.map((event, at) =>
    toEvent(
      JSON.parse(JSON.stringify({ ...event, seq: at + 1, id: `e1-${at}.0`, ts: "2026-11-22T10:00:00.000Z" })),
    ),
  );
  return { state, read };
}

const claude = (...lines: object[]) =>
  told(lines, beginClaude(launch), (state, _, line) => translateClaude(state, line, context));
const acp = (...lines: FromAdapter[]) =>
  told(lines, beginAcp(launch), (state, text, line) =>
    translateAcp(state, fromAdapter.parse(JSON.parse(text)), line, context),
  );

test.each(NAMES)("claude: a tool and a call of the name %s", (name) => {
  const use = { type: "tool_use", id: name, name, input: { a: 1 } };
  const result = { type: "tool_result", tool_use_id: name, content: "done" };
  const { read, state } = claude(
    { type: "assistant", uuid: "u1", message: { id: "m1", content: [use] } },
    { type: "user", uuid: "u2", message: { content: [result] } },
  );
  const of = (type: string) => read.find((event) => event?.type === type);
  expect(of("tool_call")).toMatchObject({ toolCallId: name, name, kind: "other" });
  expect(of("tool_call_update")).toMatchObject({ toolCallId: name, status: "completed", durationMs: 0 });
  expect(Object.keys(state.tools)).toEqual([]);
});

test.each(NAMES)("claude: the end of a call %s whose begin nobody saw", (name) => {
  const result = { type: "tool_result", tool_use_id: name, content: "done" };
  const { read } = claude({ type: "user", uuid: "u2", message: { content: [result] } });
  expect(read).toMatchObject([{ type: "tool_call_update", toolCallId: name, status: "completed" }]);
});

test.each(NAMES)("claude: an ask of the id and tool %s", (name) => {
  const request = { subtype: "can_use_tool", tool_name: name, tool_use_id: name, input: { a: 1 } };
  const asked = claude({ type: "control_request", request_id: name, request });
  expect(Object.values(asked.state.requests)).toMatchObject([{ requestId: name, kind: "ask" }]);
  expect(asked.read).toMatchObject([{ type: "permission_request", requestId: name }]);
  const unknown = claude({ type: "control_request", request_id: name, request: { subtype: name } });
  expect(Object.values(unknown.state.requests)).toMatchObject([{ requestId: name, kind: "unknown" }]);
});

test.each(NAMES)("acp: a call %s, begun or not", (id) => {
  const call = { type: "call", id, name: id, title: id, kind: "other", input: {} } as const;
  const ended = { type: "call_update", id, status: "completed" } as const;
  expect(acp(call, ended).read).toMatchObject([
    { type: "tool_call", toolCallId: id },
    { type: "tool_call_update", toolCallId: id, durationMs: 0 },
  ]);
  expect(acp(ended).read).toMatchObject([{ type: "tool_call_update", toolCallId: id, status: "completed" }]);
  expect(acp({ type: "answered", requestId: id, optionId: null }).read).toEqual([]);
});

test.each(NAMES)("a tool of the name %s is counted as it fails", (name) => {
  const gates = [{ at: "on_error", if: { failures: 2, tool: name }, by: "person" }];
  const bodies = [1, 2].flatMap((at) => [
    { type: "tool_call", toolCallId: `c${at}`, at: "a", name, title: name, kind: "other", rawInput: {} },
    { type: "tool_call_update", toolCallId: `c${at}`, status: "failed" },
  ]);
  const start = { type: "thread_start", v: 1, threadId: "1000", createdBy: "discord:7", config: { gates } };
  const fold = [start, ...bodies].reduce<ThreadFold>((before, body, at) => {
    const event = toEvent({ ...body, seq: at + 1, id: `e1-${at}.0`, ts: "2026-11-22T10:00:00.000Z" });
    expect(event).toBeDefined();
    return event ? foldEvent(before, event) : before;
  }, emptyFold());
  expect(Object.entries(fold.gates?.failures ?? {})).toEqual([[name, 2]]);
});
