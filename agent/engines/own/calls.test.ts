/** What a death in the midst of a call leaves behind: the files say what became of it, or nobody knows. */
import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { EventBody } from "../../../shared/agent/events.ts";
import { makeFolder } from "../../../test/support/folders.ts";
import { Calls } from "./calls.ts";
import { History } from "./history.ts";
import { resultText } from "./messages.ts";
import { Output } from "./output.ts";
import { Pictures } from "./pictures.ts";
import { Providers } from "./provider.ts";
import { Requests } from "./requests.ts";
import { Toolbox } from "./toolbox.ts";
import { makeTools } from "./tools/tool-set.ts";

const folder = makeFolder();
const [one, two] = [join(folder.path, "one"), join(folder.path, "two")];
afterAll(() => folder.remove());
beforeEach(() => {
  for (const path of [one, two]) rmSync(path, { force: true });
});

const hash = (text: string) => createHash("sha256").update(text).digest("hex");

/** A patch of two files, the second of which is new, that was cut off; then another process begins. */
function restart() {
  const files = [
    { path: one, before: hash("old"), after: hash("new") },
    { path: two, before: null, after: hash("made") },
  ];
  const events: EventBody[] = [
    { type: "turn_start", turnId: "t", cause: "message", deliveryIds: [] },
    { type: "step_start", stepId: "s", kind: "chat", title: "" },
    {
      type: "tool_call",
      toolCallId: "c",
      at: "s",
      name: "apply_patch",
      title: "",
      kind: "edit",
      rawInput: { patch: "p" },
    },
    { type: "step_end", stepId: "s", status: "completed", durationMs: 1 },
    { type: "tool_call_update", toolCallId: "c", status: "in_progress", files },
    { type: "tool_call_update", toolCallId: "c", status: "failed", reason: "interrupted" },
    { type: "turn_end", turnId: "t", stopReason: "interrupted" },
  ];
  const history = new History();
  for (const event of events) history.apply(event);
  const said: string[] = [];
  const output = new Output(history, (bytes) => said.push(bytes.toString()));
  const where = { dir: folder.path, reads: [], closed: [] };
  const tools = new Toolbox(
    {
      ...{ own: makeTools().tools, servers: { file: undefined, allowed: [] }, result: undefined },
      mcp: { tools: [], missing: [], problems: [] },
    },
    output,
  );
  const calls = new Calls({
    ...{ history, output, requests: new Requests("r"), tools, where, env: {} },
    pictures: new Pictures(() => undefined),
    modeId: () => "default",
  });
  calls.settle();
  return { said, open: history.openCalls.length, call: history.calls.get("c") };
}

test("all files are as after it: it is done", () => {
  writeFileSync(one, "new");
  writeFileSync(two, "made");
  const { open, call, said } = restart();
  expect([open, call?.end?.status]).toEqual([0, "completed"]);
  expect(said.join("")).toContain('"completed"');
});

test("all files are as before it: it has not run, and runs now", () => {
  writeFileSync(one, "old");
  const { open, call, said } = restart();
  expect([open, call?.hasBegun, said]).toEqual([1, false, []]);
});

test.each([
  ["one file is as after it, and one as before", "new", undefined],
  ["a file is as neither", "other", "made"],
  ["a file is gone", undefined, "made"],
])("%s: nobody knows, and it is not run again", (_, first, second) => {
  if (first !== undefined) writeFileSync(one, first);
  if (second !== undefined) writeFileSync(two, second);
  const { open, call } = restart();
  expect([open, call?.end?.reason]).toEqual([0, "interrupted"]);
  expect(resultText(call ?? {}, new Providers().get("anthropic").messages.ends)).toContain(
    "outcome is unknown",
  );
});
