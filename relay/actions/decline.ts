/** Refuses to answer an agent's questions. */
import { action } from "./frame/action.ts";
import { someId } from "./frame/parts.ts";

export const decline = action({
  name: "decline",
  parts: { requestId: someId },
  right: "decide",
  first: "update",
  isOfSession: true,
  run: ({ requestId }, { threadId }, { vm }) =>
    vm.thread(threadId).answerAsk(requestId, { action: "decline" }),
});
