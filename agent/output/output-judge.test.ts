import { expect, test } from "vitest";
import type { EventBody } from "../../shared/agent/events.ts";
import { judgeEnd, OutputJudge } from "./output-judge.ts";

const end = (more: Partial<EventBody<"turn_end">>): EventBody<"turn_end"> => ({
  type: "turn_end",
  turnId: "1",
  stopReason: "end_turn",
  ...more,
});
const check = (value: unknown) => (value === 1 ? undefined : "it must be 1.");

test("a result is kept as it is, with what is said of it", () => {
  expect(judgeEnd(end({ result: 1 }), check)).toEqual(end({ result: 1, output: "valid" }));
  const invalid = {
    output: "invalid_output",
    error: "No valid result (invalid_output): it must be 1.",
  } as const;
  expect(judgeEnd(end({ result: 2 }), check)).toEqual(end({ result: 2, ...invalid }));
  expect(judgeEnd(end({ result: null }), check)).toEqual(end({ result: null, ...invalid }));
  const missing = { ...invalid, error: "No valid result (invalid_output): the agent gave none." };
  expect(judgeEnd(end({}), check)).toEqual(end(missing));
  const given = { output: "invalid_output", error: "tried 5 times" } as const;
  const tried = { ...invalid, error: "No valid result (invalid_output): tried 5 times" };
  expect(judgeEnd(end(given), check)).toEqual(end(tried));
});

test("a result that is too large to be kept whole is no result", () => {
  const result = "x".repeat(1024 * 1024);
  const judged = judgeEnd(end({ result }), () => undefined);
  const error = "No valid result (invalid_output): it has 1,048,578 bytes, and 1,048,576 are kept.";
  expect(judged).toMatchObject({ output: "invalid_output", error });
});

test("a turn that did not come to its end owes none", () => {
  for (const stopReason of ["cancelled", "interrupted", "error", "max_tokens", "refusal"] as const) {
    expect(judgeEnd(end({ stopReason }), check)).toEqual(end({ stopReason }));
  }
});

test("only the ends of turns, only with a schema; one that can't be read is said", async () => {
  const bodies = [{ type: "notice", severity: "info", title: "x" } as const, end({ result: "a" })];
  expect(await new OutputJudge(undefined).judge(bodies)).toBe(bodies);
  const judged = await new OutputJudge({ type: "string" }).judge(bodies);
  expect(judged).toEqual([bodies[0], end({ result: "a", output: "valid" })]);
  const [, said] = await new OutputJudge({ type: "strnig" }).judge(bodies);
  expect(said).toMatchObject({
    output: "invalid_output",
    error: expect.stringContaining("agent.outputSchema: "),
  });
});
