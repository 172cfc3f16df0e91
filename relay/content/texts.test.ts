import { describe, expect, it } from "vitest";
import type { Step } from "../../shared/agent/api.ts";
import type { KillReply, ThreadStatus } from "../../shared/api.ts";
import { clip } from "../../shared/clip.ts";
import { AppError } from "../../shared/errors.ts";
import { threadName } from "../../shared/title.ts";
import { aDiscordId, aThreadId } from "../../test/support/ids.ts";
import type { Thread } from "../sidecar/names.ts";
import { channelStatus } from "./lists/channel.ts";
import { HISTORY_PAGE, historyText } from "./lists/history.ts";
import { inboxHead, inboxLine } from "./lists/inbox.ts";
import { fitLines, joinBlocks } from "./lists/lines.ts";
import { listLine, statusText, threadChoice } from "./lists/threads.ts";
import { describeEnd, listNotices } from "./notices.ts";
import { gapNotice } from "./pages.ts";
import {
  branchText,
  channelInputText,
  directoryChoice,
  errorSentence,
  homeText,
  killedText,
  openingText,
} from "./texts.ts";

/** What makes the longest of a text: long itself, or doubled by what makes it harmless. */
const FILLERS = [
  "x",
  "`",
  "```",
  "*_~|",
  "\x1b[31m",
  "\u202e",
  "漢",
  "👩\u200d💻",
  `e${"\u0301".repeat(300)}`,
  "\n",
  " a",
];
const LONGEST = FILLERS.map((filler) => filler.repeat(6_000 / filler.length + 1));
const HARM = /[\p{Cc}\u202a-\u202e\u2066-\u2069\u200e\u200f]/u;
const MARK = "\u200b"; // ours: it holds backticks apart

const threadOf = (text: string, status: ThreadStatus = "running"): Thread =>
  ({
    threadId: "1234567890123456789",
    type: "terminal",
    dir: text,
    command: text,
    title: text,
    createdBy: `caller:${"_".repeat(64)}`,
    createdAt: "2026-01-01T00:00:00.000Z",
    endedAt: status === "running" ? null : "2026-01-02T00:00:00.000Z",
    status,
    processRunning: status === "running",
    exitCode: status === "running" ? null : 1,
    signal: status === "running" ? null : text,
    waiting: 99_999,
    number: null,
    awaiting: null,
    doing: null,
    activeAt: null,
    problem: null,
    origin: null,
    offset: Number.MAX_SAFE_INTEGER,
  }) as Thread;

const agentOf = (text: string): Thread => ({
  ...threadOf(text),
  type: "agent",
  number: 2_147_483_647,
  doing: text,
  turn: { step: Number.MAX_SAFE_INTEGER, startedAt: "2026-01-01T00:00:00.000Z" },
  holds: { files: [text, text, text], count: 100 },
  problem: text,
  origin: { threadId: aThreadId("t".repeat(64)), number: null, seq: 1 },
});

const stepOf = (text: string, seq: number): Step => ({
  kind: "permission",
  stepId: text,
  seq,
  status: "cancelled",
  title: text,
  startedAt: "2026-01-01T00:00:00.000Z",
  endedAt: "2027-01-01T00:00:00.000Z",
  durationMs: null,
  reason: text,
  model: text,
  tokens: Number.MAX_SAFE_INTEGER,
});

/** What is said of agents' threads, of those that began elsewhere, and in the channel. */
const wordsOf = (text: string): string[] => {
  const agent = { ...agentOf(text), number: null };
  return [
    branchText({ parent: agent, userId: "12345678901234567890", text, from: "<#12345678901234567890>" }),
    homeText(agent, "12345678901234567890"),
    channelInputText("12345678901234567890", text),
    channelStatus(aDiscordId("12345678901234567890"), agent),
  ];
};

/** The lists of agents, with the most that stands on them. */
const listsOf = (text: string): string[] => {
  const agent = agentOf(text);
  const steps = Array.from({ length: HISTORY_PAGE }, (_, i) => stepOf(text, i));
  const { threadId, number } = agent;
  const line = listLine(agent, 1e15);
  const inboxItem = {
    threadId: aThreadId("api"),
    number: 1,
    title: text,
    createdBy: "discord:1",
    at: "2026-01-01T00:00:00.000Z",
  };
  return [
    statusText(agent, { branch: text, paused: "the bot may not write there", now: 1e15 }),
    fitLines(
      "head",
      Array.from({ length: 100 }, () => line),
    ),
    ...joinBlocks(
      Array.from({ length: 100 }, () => line),
      5,
    ),
    fitLines(
      inboxHead(threadId),
      Array.from({ length: 100 }, () => inboxLine({ ...inboxItem, kind: "failure", text })),
    ),
    historyText({ threadId, number, steps, now: 1e15 }),
  ];
};

// Promise: S23
describe("every text, with the longest of every field", () => {
  for (const text of LONGEST) {
    const thread = threadOf(text);
    const name = JSON.stringify(text.slice(0, 6));

    it(`of ${name} fits what Discord takes`, () => {
      const messages = [
        openingText({ type: "terminal", dir: text, command: text }, "12345678901234567890"),
        openingText({ type: "agent", dir: text, command: text }, "12345678901234567890", "command"),
        statusText(thread, { branch: text, paused: "the bot may not write there", now: 1e15 }),
        ...listsOf(text),
        ...wordsOf(text),
        killedText({ killed: true, exitCode: 255, survivors: 99_999, summary: text } as KillReply, {
          type: "terminal",
        }),
        `⚠️ ${errorSentence(new AppError("invalid_request", text))}`,
        ...listNotices(
          {
            thread,
            bells: 1,
            small: { ...thread, heldSmallUntil: thread.createdAt },
            ended: undefined,
            told: { bells: 0, end: undefined, small: undefined },
            lastBellAt: 0,
          },
          1e15,
        ).map((notice) => notice.text),
        gapNotice({ lines: 9e15, bytes: 9e15, gone: 9e15 }),
        ...(["exited", "killed", "lost"] as const).map((status) => {
          const content = describeEnd({ ...threadOf(text, status), type: "agent" })?.text ?? "";
          expect(content).not.toBe("");
          return content;
        }),
      ];
      for (const message of messages) {
        expect(message.length).toBeGreaterThan(0);
        expect(message.length).toBeLessThanOrEqual(2_000);
        // Each code block is closed.
        expect([message.slice(0, 40), (message.split("```").length - 1) % 2]).toEqual([
          message.slice(0, 40),
          0,
        ]);
      }
      for (const one of [
        threadName({ type: "agent", dir: text, command: text }),
        threadChoice(agentOf(text)).name,
        directoryChoice(text, text, true),
        directoryChoice(text, undefined, false),
      ]) {
        expect(one.length).toBeLessThanOrEqual(100);
      }
    });

    it(`of ${name} has nothing in it that hides, turns round or commands`, () => {
      const texts = [
        threadName({ type: "terminal", dir: text, command: text }),
        directoryChoice(text, text, true),
        statusText(thread, { branch: text, paused: undefined, now: 1e15 }),
        openingText({ type: "terminal", dir: text, command: text }, "12345678901234567890"),
        openingText({ type: "agent", dir: text, command: text }, "12345678901234567890", "command"),
        ...listsOf(text),
        ...wordsOf(text),
        threadChoice(agentOf(text)).name,
        killedText({ killed: true, exitCode: null, survivors: 0, summary: text } as KillReply, {
          type: "terminal",
        }),
        errorSentence(new AppError("invalid_request", text)),
        describeEnd(threadOf(text, "exited"))?.text ?? "",
      ];
      for (const one of texts)
        expect(HARM.exec(one.replaceAll("\n", "").replaceAll(MARK, ""))?.[0]).toBe(undefined);
    });
  }

  it("says what stands behind a long directory", () => {
    const dir = "d/".repeat(1_000);
    expect(threadName({ type: "terminal", dir, command: "make world" })).toMatch(
      /^🖥 d\/.{0,60}… — make world$/,
    );
    const shown = statusText(
      { ...threadOf("make"), dir },
      { branch: "b".repeat(2_000), paused: undefined, now: 1e15 },
    );
    expect(shown).toMatch(/…` on `b+…` · running · 99999 waiting · up .*\n`make`$/);
    expect(directoryChoice(dir, "main", true)).toMatch(/…? ?\(main\*\)$/);
  });
});

describe("clip", () => {
  it("never cuts through a character, and looks at no more than it keeps", () => {
    expect(clip("👩\u200d💻👩\u200d💻", 7)).toBe("👩\u200d💻…");
    expect(clip(`a${"\u0301".repeat(5_000_000)}`, 100)).toBe("…");
    expect(clip("abc", 3)).toBe("abc");
  });
});

it("the step and the begin of the running turn, by a clock that goes on by itself", () => {
  const turn = { step: 3, startedAt: "2026-01-01T00:00:02.500Z" };
  const agent = { ...agentOf("x"), waiting: 0, problem: null, holds: null, turn };
  const now = Date.parse("2026-01-01T00:02:00Z");
  expect(listLine(agent, now)).toContain("running · step 3 · began <t:1767225602:R> · x");
  expect(statusText(agent, { branch: undefined, paused: undefined, now })).toContain("step 3 · began <t:");
  expect(listLine({ ...agent, turn: null }, now)).not.toContain("step");
  // What stands in the channel is edited only if something happens.
  expect(channelStatus(aDiscordId("12345678901234567890"), agent)).not.toContain("step");
});
