/** The conversation by the transcript: the same for whoever reads it, and each request begins with the one before. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EventBody } from "../../../shared/agent/events.ts";
import { History, textContent } from "./history.ts";
import { type MessageTarget, toMessages } from "./messages.ts";
import { Providers } from "./provider.ts";

const BY = "anthropic/m";
const providers = new Providers();
const target = (by = BY, takesResultImages = true): MessageTarget => ({
  by,
  mapping: providers.get(takesResultImages ? "anthropic" : "google").messages,
  readImage: (uri) => (uri === "gone" ? undefined : Buffer.from(uri)),
});
const text = (value: string) => ({ type: "text" as const, text: value });

const delivery = (deliveryId: string, ...said: object[]): EventBody => ({
  ...{ type: "delivery_update", deliveryId, status: "started", meta: { said } },
});
const turn = (...deliveryIds: string[]): EventBody => ({
  ...{ type: "turn_start", turnId: "t", cause: "message", deliveryIds },
});
const endOf = (stopReason: "end_turn" | "interrupted" | "cancelled"): EventBody => ({
  ...{ type: "turn_end", turnId: "t", stopReason },
});
const start = (stepId: string, news?: string): EventBody => ({
  ...{ type: "step_start", stepId, kind: "chat", title: "" },
  ...(news !== undefined && { meta: { said: [text(news)] } }),
});
const end = (stepId: string, status: "completed" | "failed" | "cancelled" = "completed"): EventBody => ({
  ...{ type: "step_end", stepId, status, durationMs: 1 },
});
const words = (at: string, value: string): EventBody => ({
  ...{ type: "agent_message", messageId: "m", at, text: value, meta: { by: BY } },
});
const thought = (at: string, value: string): EventBody => ({
  ...{ type: "agent_thought", messageId: "m", at, text: value },
  meta: { by: BY, options: { anthropic: { signature: `signed ${value}` } } },
});
const call = (at: string, toolCallId: string): EventBody => ({
  ...{ type: "tool_call", toolCallId, at, name: "read", title: "read", kind: "read", rawInput: { a: 1 } },
});
const result = (toolCallId: string, value?: string): EventBody => ({
  ...{ type: "tool_call_update", toolCallId, status: "completed" },
  ...(value !== undefined && { content: [textContent(value)] }),
});

function historyOf(events: readonly EventBody[]): History {
  const history = new History();
  for (const event of events) history.apply(event);
  return history;
}
const messagesOf = (events: readonly EventBody[], to = target()) => toMessages(historyOf(events), to);

/** Steps of a conversation, each with what is said in it. */
const round = fc.record({
  said: fc.array(fc.string({ minLength: 1 }), { maxLength: 2 }),
  news: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
  thought: fc.option(fc.string(), { nil: undefined }),
  words: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
  results: fc.array(fc.string(), { maxLength: 3 }),
  isCutOff: fc.boolean(),
});

test("each request begins with the one before it, byte for byte, also after kills", () => {
  fc.assert(
    fc.property(fc.array(round, { minLength: 1, maxLength: 8 }), (rounds) => {
      const events: EventBody[] = [turn("d"), delivery("d", text("begin"))];
      const requests: string[] = [];
      for (const [at, one] of rounds.entries()) {
        const id = `s${at}`;
        for (const [n, said] of one.said.entries()) events.push(delivery(`d${at}-${n}`, text(said)));
        // Killed in the midst of the call: it is made again by the next process.
        if (one.isCutOff)
          events.push(start(`${id}x`), end(`${id}x`, "cancelled"), endOf("interrupted"), turn("d"));
        events.push(start(id, one.news));
        requests.push(JSON.stringify(messagesOf(events)).replace(/[\]}]+$/, ""));
        if (one.thought !== undefined) events.push(thought(id, one.thought));
        events.push(words(id, one.words ?? "."));
        const calls = one.results.map((_, n) => `c${at}-${n}`);
        events.push(...calls.map((callId) => call(id, callId)), end(id));
        events.push(...one.results.map((value, n) => result(`c${at}-${n}`, value)));
      }
      for (const [at, request] of requests.entries())
        if (at > 0) expect(request.startsWith(requests[at - 1] ?? "")).toBe(true);
    }),
    { numRuns: 200 },
  );
});

describe("what a death leaves behind", () => {
  const begun = [turn("d"), delivery("d", text("go")), start("s"), call("s", "c"), end("s")];

  test("an answer without its end counts for nothing", () => {
    const cut = [turn("d"), delivery("d", text("go")), start("s"), words("s", "half"), call("s", "c")];
    expect(messagesOf([...cut, end("s", "failed")])).toEqual([{ role: "user", content: [text("go")] }]);
  });

  test("a call that had begun and that nobody saw end is told as unknown; one that had not is open", () => {
    const running: EventBody = { type: "tool_call_update", toolCallId: "c", status: "in_progress" };
    const died: EventBody = {
      type: "tool_call_update",
      toolCallId: "c",
      status: "failed",
      reason: "interrupted",
    };
    const after = historyOf([...begun, running, died, endOf("interrupted")]);
    expect(after.openCalls).toEqual([]);
    expect(JSON.stringify(toMessages(after, target()))).toContain("outcome is unknown");
    const open = historyOf([...begun, endOf("interrupted")]);
    expect(open.openCalls.map(({ callId }) => callId)).toEqual(["c"]);
    expect(open.turn).toEqual(["d"]);
  });

  test("a turn that a person stopped takes its open calls with it", () => {
    const stopped = historyOf([...begun, endOf("cancelled")]);
    expect([stopped.openCalls, stopped.turn]).toEqual([[], undefined]);
    expect(JSON.stringify(toMessages(stopped, target()))).toContain("Not run");
  });
});

test("a summary stands for what is before it, and the newest stays as it is", () => {
  const events: EventBody[] = [
    ...[
      turn("d"),
      delivery("d", text("old words")),
      start("s"),
      words("s", "old answer"),
      end("s"),
      endOf("end_turn"),
    ],
    ...[turn("e"), delivery("e", text("new"))],
    { type: "compaction_update", status: "completed", summary: "In short.", keptFrom: "e" },
  ];
  expect(messagesOf(events)).toEqual([
    { role: "user", content: [text("<summary>\nIn short.\n</summary>"), text("new")] },
  ]);
});

test("thoughts and a provider's own words go to no other model", () => {
  const events = [
    turn("d"),
    delivery("d", text("x")),
    start("s"),
    thought("s", "hm"),
    words("s", "y"),
    end("s"),
  ];
  const mine = { anthropic: { signature: "signed hm" } };
  expect(messagesOf(events)[1]?.content).toEqual([
    { type: "reasoning", text: "hm", providerOptions: mine },
    text("y"),
  ]);
  expect(messagesOf(events, target("openai/x"))[1]?.content).toEqual([text("y")]);
});

test("images go as images, of results behind them if the provider has no place for them; one that is gone is said", () => {
  const image = (uri: string) => ({ type: "image" as const, mimeType: "image/png", uri });
  const shown: EventBody = {
    ...{ type: "tool_call_update", toolCallId: "c", status: "completed" },
    content: [textContent("a picture"), { type: "content", content: image("a.png") }],
  };
  const events = [
    turn("d"),
    delivery("d", image("p.png"), image("gone")),
    start("s"),
    call("s", "c"),
    end("s"),
    shown,
  ];
  const file = (uri: string) => ({ type: "file", mediaType: "image/png", data: Buffer.from(uri) });
  const [said, , results] = messagesOf(events);
  expect(said?.content).toEqual([file("p.png"), text("[The image gone is gone.]")]);
  const data = Buffer.from("a.png").toString("base64");
  expect(JSON.stringify(results)).toContain(
    JSON.stringify({ type: "image-data", mediaType: "image/png", data }),
  );
  const others = messagesOf(events, target(BY, false));
  expect(others.at(-1)).toMatchObject({ role: "user", content: [expect.anything(), file("a.png")] });
  expect(JSON.stringify(others[2])).not.toContain(data);
});
