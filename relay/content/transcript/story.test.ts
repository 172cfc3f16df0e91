/** A turn of an agent, or of a program that stands for one, may have any number of events. */
import { expect, test } from "vitest";
import type { EventBody, ThreadEvent } from "../../../shared/agent/events.ts";
import { findFastGrowth, type Growing } from "../../../test/support/growth.ts";
import { TranscriptContent } from "./content.ts";
import { Story } from "./story.ts";
import { ask, call, done, end, feed, numbered, start } from "./testing/events.ts";

type Make = (i: number) => EventBody;
const edit: Make = (i) => call(`c${i}`, "Edit", `Edit ${i}`, {});
const edited: Make = (i) => done(`c${i}`);
const editedFile: Make = (i) =>
  done(`c${i}`, { content: [{ type: "diff", path: `f${i}`, oldText: "a", newText: "b" }] });
const step: Make = (i) => ({ type: "step_start", stepId: `s${i}`, kind: "chat", title: "x" });
const stepEnd: Make = (i) => ({ type: "step_end", stepId: `s${i}`, status: "completed", durationMs: 1 });
const asked: Make = (i) => ask(`q${i}`, `c${i}`);
const allowed: Make = (i) => ({
  type: "permission_response",
  requestId: `q${i}`,
  outcome: "selected",
  optionId: "once",
});
const warning: Make = () => ({ type: "notice", severity: "warning", title: "x" });
const written: Make = (i) => ({
  type: "user_message",
  messageId: `u${i}`,
  at: "u",
  source: "owner",
  content: [{ type: "text", text: "x" }],
});
const turn: Make[] = [(i) => ({ ...start, turnId: `t${i}` }), (i) => ({ ...end, turnId: `t${i}` })];

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
const sideBySide = (count: number, ...makes: Make[]) => makes.flatMap((make) => numbers(count).map(make));
const oneByOne = (count: number, ...makes: Make[]) =>
  numbers(count).flatMap((i) => makes.map((make) => make(i)));

const TURNS: [name: string, make: (count: number) => EventBody[]][] = [
  ["calls that end at once", (n) => [start, ...oneByOne(n, edit, edited)]],
  ["calls that run side by side", (n) => [start, ...sideBySide(n, edit, edited)]],
  ["edits of as many files", (n) => [start, ...oneByOne(n, edit, editedFile)]],
  ["calls of the model between others", (n) => [start, ...oneByOne(n, step, edit, stepEnd)]],
  ["steps that end in order", (n) => [start, ...sideBySide(n, step, stepEnd)]],
  ["open asks", (n) => [start, ...sideBySide(n, asked)]],
  ["answered asks", (n) => [start, ...oneByOne(n, edit, asked, allowed, edited)]],
  ["notices", (n) => sideBySide(n, warning)],
  ["messages", (n) => [start, ...sideBySide(n, written)]],
  ["turns", (n) => oneByOne(n, ...turn)],
];

test("a plain remark stands among the steps if it informs, and by itself if it warns", () => {
  const shown = (severity: "info" | "warning") => {
    const story = new Story();
    const remark: EventBody = { type: "notice", severity, title: "It is so", description: "because" };
    for (const event of numbered([start, remark])) story.add(event);
    return story.entries.map(({ kind }) => kind);
  };
  expect(shown("info")).toEqual(["activity"]);
  expect(shown("warning")).toContain("plain");
});

test("many events take a time that grows as their number does", () => {
  const add = (events: readonly ThreadEvent[]) => {
    const story = new Story();
    for (const event of events) story.add(event);
    return story.openSince;
  };
  const grown = TURNS.flatMap(([name, make]) => {
    const events = { name, make: (count: number) => numbered(make(count)) };
    return findFastGrowth(events, add, [250, 1_000, 4_000]) ?? [];
  });
  expect(grown).toEqual([]);
});

test("a look at many messages that wait takes a time that grows as their number does", () => {
  const waiting: Growing<{ length: number; content: TranscriptContent }>[] = [
    { name: "asks", make: (count) => filled([start, ...sideBySide(count, asked)]) },
    { name: "notices", make: (count) => filled(sideBySide(count, warning)) },
  ];
  const look = ({ content }: { content: TranscriptContent }) => {
    content.pages();
    content.confirm([]);
  };
  expect(waiting.flatMap((each) => findFastGrowth(each, look, [250, 1_000, 4_000]) ?? [])).toEqual([]);
});

/** A content that has read the events, a few at a time so that none waits. */
function filled(bodies: readonly EventBody[]): { length: number; content: TranscriptContent } {
  const content = new TranscriptContent({ starter: undefined });
  const events = numbered(bodies);
  for (let at = 0; at < events.length; at += 50) feed(content, events.slice(at, at + 50));
  expect(content.mark()?.offset).toBe(0);
  return { length: events.length, content };
}
