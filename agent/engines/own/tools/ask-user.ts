/** Tool `ask_user`: questions that a person answers. The call is its ask: nothing else runs. */
import * as z from "zod";
import type { Tool } from "./tool.ts";

const MAX_QUESTIONS = 4;
const MAX_OPTIONS = 8;

const oneLine = (max: number) => z.string().trim().min(1).max(max);
const option = z.strictObject({
  label: oneLine(80),
  description: oneLine(300).optional(),
});
const question = z.strictObject({
  // Answers are kept by question, in objects: a name that every object has would always be answered.
  question: oneLine(1_000).refine((text) => !(text in {}), "ask it in a sentence"),
  header: oneLine(40).default("Question").describe("One or two words above the question."),
  multiSelect: z.boolean().default(false).describe("Several options may be chosen."),
  options: z
    .array(option)
    .max(MAX_OPTIONS)
    .default([])
    .describe("The person may always answer in words of their own."),
});
const input = z.strictObject({
  questions: z
    .array(question)
    .min(1)
    .max(MAX_QUESTIONS)
    .refine((all) => new Set(all.map((one) => one.question)).size === all.length, "each may be asked once"),
});
type Input = z.infer<typeof input>;

export const askUser: Tool<Input> = {
  name: "ask_user",
  kind: "other",
  description:
    "Asks the people of the thread what only they can decide. They answer by buttons or in their own words, perhaps much later. Do not ask for permission with it: calls that need one ask by themselves.",
  input,
  isRepeatable: true,
  asksAs: () => "nothing",
  subject: ({ questions }) => questions.map((one) => one.question).join(" · "),
  questions: ({ questions }) => questions,
  run: async () => ({ text: "Nobody was asked.", isError: true }),
};
