import { expect, test } from "vitest";
import { endOfClose, endOfError, endOfFrame } from "./line-end.ts";

const state = (status: "running" | "idle" | "waiting" | "exited" | "killed") => ({
  status,
  exitCode: status === "exited" ? 3 : null,
  signal: null,
});

test.each(["running", "idle", "waiting"] as const)("a thread that is %s goes on", (status) => {
  expect(endOfFrame({ type: "status", ...state(status) })).toBeUndefined();
});

test("a process that has ended ends it, though its pane stays", () => {
  expect(endOfFrame({ type: "status", ...state("exited") })).toEqual({
    kind: "over",
    text: "ended with exit code 3",
  });
  expect(endOfFrame({ type: "end", ...state("killed"), text: "" })).toEqual({ kind: "over", text: "killed" });
});

test.each([
  ["unavailable", "lost"],
  ["internal", "lost"],
  ["not_found", "refused"],
  ["thread_ended", "refused"],
  ["max_threads", "refused"],
  ["unauthorized", "refused"],
] as const)("the error %s: the connection is %s", (code, kind) => {
  expect(endOfError(code, "words").kind).toBe(kind);
});

test("how a connection was closed is said in words", () => {
  expect(endOfClose(1001)).toEqual({ kind: "lost", reason: "The sidecar stops." });
  expect(endOfClose(4408)).toMatchObject({ kind: "lost", reason: expect.stringContaining("too slow") });
  expect(endOfClose(4401)).toMatchObject({ kind: "refused", error: { code: "unauthorized" } });
  expect(endOfClose(1006)).toEqual({ kind: "lost", reason: "The connection is lost." });
  const noWords = new AggregateError([new Error("connect ECONNREFUSED ::1:1"), new Error("other")]);
  expect(endOfClose(1006, noWords)).toEqual({
    kind: "lost",
    reason: "The connection is lost: connect ECONNREFUSED ::1:1.",
  });
});
