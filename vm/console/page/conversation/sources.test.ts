import { expect, test } from "vitest";
import type { ThreadEvent } from "../../../../shared/agent/events.ts";
import { sourceKindOf } from "./sources.ts";

const base = { seq: 1, id: "i0.0", ts: "2026-11-22T10:00:00.000Z" };
const content = [{ type: "text", text: "x" }];
const input = (source: string, handle?: string) =>
  ({
    ...base,
    type: "user_message",
    messageId: "m",
    source,
    content,
    ...(handle && { handle }),
  }) as ThreadEvent;
const said = { messageId: "m1", callId: "c", address: "discord:#ops", channelId: "1", text: "x" };

test.each<[string, ThreadEvent, string | undefined]>([
  ["a person", input("discord:7", "discord:#ops/alice"), "people"],
  ["the owner", input("owner", "owner"), "people"],
  ["the console", input("console"), "people"],
  ["a program", input("caller:ci"), "people"],
  ["a job of the clock", input("job:daily", "job:daily"), "jobs"],
  ["a hook", input("job:deploy", "job:deploy"), "hooks"],
  ["another agent", input("thread:t", "thread:#12"), "threads"],
  ["the reminder of an answer", input("job:net", "threadmux"), "people"],
  ["what it says in a channel", { ...base, type: "voice_message", ...said } as ThreadEvent, "people"],
  ["its own text", { ...base, type: "agent_message", messageId: "m", text: "x" } as ThreadEvent, undefined],
])("%s is of its source", (_, event, kind) => {
  expect(sourceKindOf(event, (job) => job === "deploy")).toBe(kind);
});
