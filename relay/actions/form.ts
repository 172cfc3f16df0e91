/** Answers an agent's questions in words. */
import type { AskReply } from "../../shared/agent/api.ts";
import { AppError } from "../../shared/errors.ts";
import { action } from "./frame/action.ts";
import { findAsk, questionsOf } from "./frame/asks.ts";
import type { Form } from "./frame/controls.ts";
import { someId } from "./frame/parts.ts";

/** Discord's limit. */
const MAX_FIELDS = 5;

export const form = action({
  name: "form",
  parts: { requestId: someId },
  right: "decide",
  first: "form",
  isOfSession: true,
  run: async ({ requestId }, press, { vm }) =>
    press.open(answerForm(await findAsk(vm.thread(press.threadId), requestId))),
  submit: async ({ requestId }, filled, { threadId }, { vm }) => {
    const thread = vm.thread(threadId);
    const ask = await findAsk(thread, requestId);
    const answers = questionsOf(ask)
      .slice(0, MAX_FIELDS)
      .map(({ question }, i) => [question, filled(`q${i}`)] as const)
      .filter(([, answer]) => answer !== "");
    if (answers.length === 0)
      throw new AppError("invalid_request", "The form was empty: nothing was answered.");
    await thread.answerAsk(ask.requestId, { action: "accept", content: Object.fromEntries(answers) });
  },
});

/** A field for each question; a form takes five. */
export function answerForm(ask: AskReply): Form {
  const fields = questionsOf(ask)
    .slice(0, MAX_FIELDS)
    .map(({ question, header, options }, i) => ({
      id: `q${i}`,
      label: header.trim() || question.trim() || `Question ${i + 1}`,
      description: question.trim() || "Your answer",
      hint: options.map(({ label }) => label).join(", "),
    }));
  return { id: form.findId({ requestId: ask.requestId }) ?? "", title: "Answer the agent", fields };
}
