/** Answers an agent's question with one of its options. */
import { action, people } from "./frame/action.ts";
import { choose } from "./frame/asks.ts";
import { someId, whole } from "./frame/parts.ts";

export const choice = action({
  name: "answer",
  parts: { requestId: someId, index: whole },
  mayPress: people,
  first: "update",
  isOfSession: true,
  run: ({ requestId, index }, press, { vm }) => choose(vm.thread(press.threadId), requestId, [[index]]),
});
