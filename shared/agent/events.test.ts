import { expect, test } from "vitest";
import { parseEvent } from "./events.ts";
import { parseInboxLine } from "./inbox.ts";

const place = { seq: 3, id: "e2-4101.0", ts: "2026-11-22T10:00:00.000Z" };

test("an event is read; fields and types of a later version are skipped", () => {
  const line = { ...place, type: "agent_message", messageId: "m", at: "u", text: "hi", later: 1 };
  expect(parseEvent(JSON.stringify(line))).toEqual({
    ...place,
    type: "agent_message",
    messageId: "m",
    at: "u",
    text: "hi",
  });
  expect(parseEvent(JSON.stringify({ ...place, type: "hologram", depth: 3 }))).toBeUndefined();
});

test("what is no event is refused, naming the field", () => {
  expect(() => parseEvent('{"seq":1')).toThrow(SyntaxError);
  expect(() => parseEvent(JSON.stringify({ ...place, seq: 0, type: "hologram" }))).toThrow(/seq/);
  expect(() => parseEvent(JSON.stringify({ ...place, id: "e4101.0", type: "plan", entries: [] }))).toThrow(
    /id/,
  );
  expect(() => parseEvent(JSON.stringify({ ...place, type: "agent_message" }))).toThrow(/messageId/);
});

test("inbox lines are read; a line of another kind is refused", () => {
  const ts = place.ts;
  const message = {
    ts,
    op: "message",
    messageId: "m1",
    source: "discord:7",
    content: [{ type: "text", text: "hi" }],
  };
  expect(parseInboxLine(JSON.stringify(message))).toEqual(message);
  expect(() => parseInboxLine(JSON.stringify({ ...message, source: "boss" }))).toThrow(/source/);
  expect(() => parseInboxLine(JSON.stringify({ ts, op: "fly" }))).toThrow(/op/);
});
