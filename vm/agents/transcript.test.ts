import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { threadPath } from "../../shared/agent/paths.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { findCalls } from "./transcript.ts";

test("a call is found behind the torn line that a killed runner has left of it", () => {
  const folder = makeFolder();
  try {
    const call = { type: "tool_call", toolCallId: "c1", at: "u", name: "Bash", title: "Bash ls" };
    const more = { kind: "execute", rawInput: {}, seq: 1, id: "r1.0", ts: new Date(1).toISOString() };
    const line = JSON.stringify({ ...call, ...more });
    const text = `${line.slice(0, 60)}\n${line}\n`;
    writeFileSync(threadPath(folder.path, "transcript"), text);
    expect(findCalls(folder.path, text.length, ["c1"])).toMatchObject([{ toolCallId: "c1" }]);
  } finally {
    folder.remove();
  }
});
