/** A second, different description of a call or an ask in an engine's output is found. */
import { expect, test } from "vitest";
import type { EventBody } from "../shared/agent/events.ts";
import { SaidBefore } from "./said-before.ts";

const call = (toolCallId: string, command: string): EventBody => ({
  ...{ type: "tool_call", toolCallId, at: "a", name: "Bash", title: "Bash", kind: "execute" },
  rawInput: { command },
});
const ask = (requestId: string, title: string): EventBody => ({
  ...{ type: "permission_request", requestId, toolCallId: "c", callKey: "k", toolName: "Bash", input: "{}" },
  ...{ title, options: [{ optionId: "once", name: "Allow once", kind: "allow_once" }] },
});
const ended = (toolCallId: string): EventBody => ({
  type: "tool_call_update",
  toolCallId,
  status: "completed",
});
const begun = (toolCallId: string): EventBody => ({
  type: "tool_call_update",
  toolCallId,
  status: "in_progress",
});

test.each<[string, EventBody[], boolean]>([
  ["the same again", [call("c", "ls"), ask("q", "ls"), call("c", "ls"), ask("q", "ls")], false],
  ["another command of an open call", [call("c", "rm"), begun("c"), call("c", "ls")], true],
  ["another call of the id of one that has ended", [call("c", "rm"), ended("c"), call("c", "ls")], false],
  ["another title of an ask", [ask("q", "rm"), ended("c"), ask("q", "ls")], true],
  ["names that every object has", [call("__proto__", "a"), call("constructor", "b")], false],
])("%s", (_, events, isOther) => {
  const said = new SaidBefore();
  expect(events.map((event) => said.isOther([event])).includes(true)).toBe(isOther);
});

test("it keeps no more than it may", () => {
  const said = new SaidBefore();
  said.isOther([ask("first", "rm")]);
  for (let n = 0; n < 5_000; n++) expect(said.isOther([call(`c${n}`, "x")])).toBe(false);
  expect(said.isOther([ask("first", "ls")])).toBe(false);
  expect(said.isOther([call("c4999", "y")])).toBe(true);
});
