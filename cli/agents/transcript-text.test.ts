import { expect, test } from "vitest";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { TranscriptText } from "./transcript-text.ts";

test("a plain remark is told with the words below it, and nothing in it acts on a terminal", () => {
  const remark = { type: "notice", severity: "info", title: "It is \u001b[2Jso", description: "because" };
  expect(new TranscriptText("t").add(remark as unknown as ThreadEvent)).toEqual(["! It is �[2Jso: because"]);
});

test.each([
  ["paused", false, "· paused"],
  ["parked", true, "· goes on once the ask is answered"],
  ["parked", false, "· stopped at a limit"],
  ["crashed", false, undefined],
])("an engine that ends as %s says why the turn was cut off", (reason, isAsked, told) => {
  const text = new TranscriptText("t");
  const ask = { type: "permission_request", requestId: "q", toolCallId: "c", title: "Bash x", options: [] };
  if (isAsked) text.add(ask as unknown as ThreadEvent);
  text.add({ type: "turn_end", turnId: "t", stopReason: "interrupted" } as unknown as ThreadEvent);
  const end = { type: "engine_end", generation: 1, reason } as unknown as ThreadEvent;
  expect(text.add(end)[0]).toBe(told);
});
