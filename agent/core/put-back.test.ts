import { expect, test } from "vitest";
import { emptyFold } from "../../shared/agent/fold.ts";
import type { OpenAsk, ThreadFold } from "../../shared/agent/fold-types.ts";
import { knownThreadId } from "../../shared/ids.ts";
import { aDiscordId } from "../../test/support/ids.ts";
import { openThings } from "./put-back.ts";

const at = "2026-01-02T03:04:05.000Z";
const owed = (person: string) => ({
  messageId: person,
  source: "discord:1",
  handle: `discord:#ops/${person}`,
  channelId: aDiscordId("300000000000000001"),
  at,
  seq: 1,
});
const ask: OpenAsk = {
  requestId: "r",
  kind: "permission",
  toolCallId: "c",
  toolName: "Bash",
  callKey: "k",
  input: "{}",
  title: "npm\npublish",
  generation: 1,
  askedAt: at,
  seq: 2,
  replaces: [],
  options: [],
};

test("three people without an answer, an ask, a child, a command and a job are named; nothing open is nothing to say", () => {
  expect(openThings(emptyFold())).toBeUndefined();
  const fold: ThreadFold = {
    ...emptyFold(),
    voice: { owed: ["ann", "bob", "cy"].map(owed), calls: [], said: [], heldIds: [] },
    compactedSeq: 10,
    asks: [
      ask,
      { ...ask, seq: 11, title: "after it" },
      { ...ask, kind: "question", title: "Which?" },
      { ...ask, trust: true, title: "trust" },
    ],
    children: [{ threadId: knownThreadId.parse("child-1"), mode: "async", title: "tests" }],
    backgroundTasks: [{ taskId: "b1", title: "npm run dev" }],
    jobs: { made: ["nightly"], calls: [] },
  };
  const lines = openThings(fold)?.split("\n") ?? [];
  expect(lines.slice(1).map((line) => line.replace(/\d\d:\d\d/, "T"))).toEqual([
    "- discord:#ops/ann of T has no answer from you yet.",
    "- discord:#ops/bob of T has no answer from you yet.",
    "- discord:#ops/cy of T has no answer from you yet.",
    "- A person is still asked whether this may run: npm publish",
    "- People are still asked: Which?",
    "- Your child child-1 is at work: tests",
    "- In the background b1 runs: npm run dev",
    "- You have made the job nightly: job_list says when it is due.",
  ]);
  const many = {
    ...fold,
    voice: { ...fold.voice, owed: Array.from({ length: 25 }, (_, n) => owed(`p${n}`)) },
  };
  expect(openThings(many as ThreadFold)).toContain("- And 5 more of these.");
});
