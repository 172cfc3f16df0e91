import { expect, test } from "vitest";
import { askUser } from "./ask-user.ts";
import { anyTool } from "./tool.ts";

const call = (questions: unknown) => anyTool(askUser).call({ questions });

test("questions that nobody could answer, or whose answers could not be told apart, are refused by their place", () => {
  const problem = (questions: unknown) => (call(questions) as { problem?: string }).problem;
  expect(problem([])).toContain("questions:");
  expect(problem([{ question: " " }])).toContain("questions.0.question:");
  expect(problem([{ question: "constructor" }])).toContain("questions.0.question: ask it in a sentence");
  expect(problem([{ question: "A?" }, { question: "A? " }])).toContain("each may be asked once");
  expect(problem(Array.from({ length: 5 }, (_, n) => ({ question: `Q${n}?` })))).toContain("questions:");
  expect(problem([{ question: "A?", options: [{ label: "x".repeat(81) }] }])).toContain("options.0.label");
  expect(problem([{ question: "A?", options: [{ label: "x", secret: 1 }] }])).toContain("secret");
  expect(problem([{ question: "A?" }])).toBeUndefined();
});
