/** The translation of claude's output, over recordings of the real program. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type EventBody, parseEvent, type ThreadEvent, toEvent } from "../../../shared/agent/events.ts";
import { emptyFold, foldEvents } from "../../../shared/agent/fold.ts";
import { splitLines } from "../../../shared/agent/jsonl.ts";
import { threadPath } from "../../../shared/agent/paths.ts";
import { Transcript } from "../../folder/transcript.ts";
import { SaidBefore } from "../../said-before.ts";
import { config, launch } from "../../testing/thread.ts";
import { beginClaude, type ClaudeState } from "./state.ts";
import { translateClaude } from "./translate.ts";

const RECORDINGS = new URL("../../../test/agents/recordings/", import.meta.url);
const names = readdirSync(RECORDINGS).filter((name) => name.endsWith(".jsonl"));
const root = mkdtempSync(join(tmpdir(), "translate-"));
let folders = 0;

afterAll(() => rmSync(root, { recursive: true, force: true }));

const now = new Date("2026-11-22T10:00:01.000Z");

/** A recording holds several starts of the program: the lines up to the second one's reply. */
function recorded(name: string) {
  const { lines } = splitLines(readFileSync(new URL(name, RECORDINGS)), 0);
  const isReply = (text: string) => /"request_id":"initialize-\d+"/.test(text);
  const second = lines.findIndex(({ text }, index) => index > 0 && isReply(text));
  const own = second < 0 ? lines : lines.slice(0, second);
  // Our first request has an id of its own.
  return own.map((line) => ({
    ...line,
    text: line.text.replace(/"request_id":"initialize-\d+"/, '"request_id":"init"'),
  }));
}

/** Translates the recording, with a new runner before each line of `restarts`. */
function run(name: string, restarts: ReadonlySet<number>, lines = recorded(name)): ThreadEvent[] {
  const folder = join(root, String(++folders));
  const make = () => new Transcript(folder, undefined, () => {});
  mkdirSync(folder);
  let transcript = make();
  let state = beginClaude(launch);
  const saidBefore = new SaidBefore();
  const messages = lines.flatMap(({ text }) => /"uuid":"([^"]+)".*"isReplay":true/.exec(text)?.[1] ?? []);
  const said: EventBody[] = [
    { type: "user_message", messageId: "m", source: "discord:7", content: [{ type: "text", text: "m" }] },
    ...messages.map((deliveryId) => ({ type: "delivery" as const, deliveryId, messageIds: ["m"] })),
  ];
  transcript.append({ from: "inbox", byte: 0 }, said, now);
  const translate = (line: (typeof lines)[number]) => {
    const context = { fold: transcript.fold, launch, config, nowMs: now.getTime() };
    const translated = translateClaude(state, line, context);
    state = translated.state;
    expect(saidBefore.isOther(translated.events)).toBe(false);
    transcript.append({ from: "engine", generation: 1, byte: line.byte }, translated.events, now);
  };
  for (const [index, line] of lines.entries()) {
    if (restarts.has(index)) {
      transcript.close();
      transcript = make();
      state = beginClaude(launch);
      for (const old of lines.slice(0, index)) translate(old);
    }
    translate(line);
  }
  transcript.close();
  const written = readFileSync(threadPath(folder, "transcript"), "utf8").trimEnd().split("\n");
  return written.map((line) => parseEvent(line)).filter((event) => event !== undefined);
}

test.each(names)("%s: every line is read, every event keeps to the schema", (name) => {
  const events = run(name, new Set());
  for (const event of events) toEvent(event);
  expect(events.find(({ type }) => type === "engine_start")).toMatchObject({ version: "2.1.330" });
});

test.each(names)("%s: a runner that is started again before any line writes the same transcript", (name) => {
  const whole = run(name, new Set());
  const lines = recorded(name).length;
  const every = new Set(Array.from({ length: lines }, (_, index) => index));
  expect(run(name, every).map(withoutTime)).toEqual(whole.map(withoutTime));
});

function withoutTime({ ts: _, ...event }: ThreadEvent): object {
  return event;
}

test.each([
  "hello.jsonl",
  "tools.jsonl",
  "question.jsonl",
  "plan.jsonl",
  "rule.jsonl",
  "interrupt-tool.jsonl",
])("%s: nothing stays open", (name) => {
  const folder = run(name, new Set());
  const turns = folder.filter(({ type }) => type === "turn_start").length;
  expect(turns).toBeGreaterThan(0);
  expect(folder.filter(({ type }) => type === "turn_end")).toHaveLength(turns);
  const calls = folder.filter(({ type }) => type === "tool_call").length;
  const ends = folder.filter((event) => event.type === "tool_call_update" && event.status !== "in_progress");
  expect(ends).toHaveLength(calls);
});

test("a model that gives no result that fits, however often it is asked, has not failed: its result has", () => {
  const fields = '"subtype":"error_max_structured_output_retries","is_error":true,"errors":["tried 5 times"]';
  const lines = recorded("hello.jsonl").map((line) => {
    const isResult = line.text.includes('"type":"result"');
    return isResult ? { ...line, text: `{"type":"result",${fields}}` } : line;
  });
  const [end] = run("hello.jsonl", new Set(), lines).filter(({ type }) => type === "turn_end");
  expect(end).toMatchObject({ stopReason: "end_turn", output: "invalid_output", error: "tried 5 times" });
});

/** The state after these lines of an engine that was resumed to take a cut-off turn up. */
function resumedState(...lines: object[]) {
  const resumed = { ...launch, resumed: true, takesUp: true };
  const context = { fold: emptyFold(), launch: resumed, config, nowMs: now.getTime() };
  const read = (state: ClaudeState, line: object, byte: number) =>
    translateClaude(state, { byte, bytes: 1, text: JSON.stringify(line) }, context).state;
  return lines.reduce(read, beginClaude(resumed));
}

const told = (request_id: string, response: object) => ({
  type: "control_response",
  response: { subtype: "success", request_id, response },
});
const changed = (state: string) => ({ type: "system", subtype: "session_state_changed", state });
const lifecycle = (state: string) => ({ type: "command_lifecycle", command_uuid: "c", state });

test("what a resumed engine says of its state decides whether it takes a turn up, not whether it has answered", () => {
  const running = told("init", { session_state: "running" });
  const begins = [running, told("ping-1", {})];
  expect(resumedState(...begins)).toMatchObject({ isOpen: true, isBusy: true });
  expect(resumedState(changed("running"), ...begins, lifecycle("started")).isBusy).toBe(true);
  const turn = { type: "system", subtype: "status", status: "requesting" };
  expect(resumedState(...begins, turn)).toMatchObject({ isBusy: true, takesUpNothing: false });
  // It was stopped before it had begun.
  const stopped = resumedState(...begins, changed("idle"));
  expect(stopped).toMatchObject({ isBusy: false, takesUpNothing: true });
  const ended = resumedState(told("init", { session_state: "idle" }));
  expect(ended).toMatchObject({ isBusy: false, takesUpNothing: true });
  expect(resumedState(changed("running")).takesUpNothing).toBeUndefined();
  // One that tells no state has said "started" before it replies.
  expect(resumedState(told("init", {})).takesUpNothing).toBe(true);
  expect(resumedState(lifecycle("started"), told("init", {}))).toMatchObject({ isBusy: true });
});

test("an ask that the engine withdraws after a person has answered it keeps its one end", () => {
  const asked = {
    type: "control_request",
    request_id: "r",
    request: { subtype: "can_use_tool", tool_name: "Bash", input: { command: "ls" }, tool_use_id: "t" },
  };
  const withdrawn = { type: "control_cancel_request", request_id: "r" };
  const lines = [asked, withdrawn].map((line, byte) => ({ byte, bytes: 1, text: JSON.stringify(line) }));
  const context = (events: EventBody[]) => {
    const place = (index: number) => ({ seq: index + 1, id: `r${index}.0`, ts: now.toISOString() });
    const whole = events.flatMap((body, index) => toEvent({ ...place(index), ...body }) ?? []);
    return { fold: foldEvents(whole), launch, config, nowMs: now.getTime() };
  };
  const ask = translateClaude(beginClaude(launch), lines[0]!, context([]));
  const end = (events: EventBody[]) => translateClaude(ask.state, lines[1]!, context(events)).events;
  expect(end(ask.events)).toMatchObject([{ type: "permission_response", outcome: "cancelled" }]);
  const answer = {
    type: "permission_response",
    requestId: "r",
    outcome: "selected",
    optionId: "once",
  } as const;
  expect(end([...ask.events, { ...answer, by: "discord:7" }])).toEqual([]);
});
