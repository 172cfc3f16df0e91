/** Refuses what an agent asks to do, with a reason in words. */
import type { AskReply } from "../../shared/agent/api.ts";
import { action } from "./frame/action.ts";
import { findAsk } from "./frame/asks.ts";
import type { Form } from "./frame/controls.ts";
import { optionId, someId } from "./frame/parts.ts";

export const because = action({
  name: "because",
  parts: { requestId: someId, optionId },
  right: "decide",
  first: "form",
  isOfSession: true,
  run: async ({ requestId, optionId }, press, { vm }) =>
    press.open(reasonForm(await findAsk(vm.thread(press.threadId), requestId), optionId)),
  submit: ({ requestId, optionId }, filled, { threadId }, { vm }) => {
    const message = filled("reason");
    const why = message === "" ? {} : { message };
    return vm.thread(threadId).answerAsk(requestId, { optionId, ...why });
  },
});

/** What is asked about stands in the form's description, so that nobody gives a reason for the wrong thing. */
export function reasonForm({ requestId, kind, title }: AskReply, optionId: string): Form {
  const isPlan = kind === "plan";
  return {
    id: because.findId({ requestId, optionId }) ?? "",
    title: isPlan ? "Keep planning" : "Deny, because…",
    fields: [
      {
        id: "reason",
        label: isPlan ? "What is to change?" : "Why not?",
        description: title,
        hint: isPlan ? "What is missing, or is to be otherwise" : "The agent reads it, and goes on with it",
      },
    ],
  };
}
