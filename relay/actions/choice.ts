/** Answers an agent's question with one of its options. */
import { action } from "./frame/action.ts";
import { choose } from "./frame/asks.ts";
import { someId, whole } from "./frame/parts.ts";

export const choice = action({
  name: "answer",
  parts: { requestId: someId, index: whole },
  right: "decide",
  first: "update",
  isOfSession: true,
  run: ({ requestId, index }, press, { vm }) => choose(vm.thread(press.threadId), requestId, [[index]]),
});
