/** Decides on what an agent asks to do. */
import { action } from "./frame/action.ts";
import { optionId, someId } from "./frame/parts.ts";

export const permission = action({
  name: "ask",
  parts: { requestId: someId, optionId },
  right: "decide",
  first: "update",
  isOfSession: true,
  run: ({ requestId, optionId }, { threadId }, { vm }) =>
    vm.thread(threadId).answerAsk(requestId, { optionId }),
});
