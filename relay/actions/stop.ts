/** Ends the turn that the person sees; another one is left alone. */
import { action, people } from "./frame/action.ts";
import { someId } from "./frame/parts.ts";

export const stop = action({
  name: "stop",
  parts: { turnId: someId },
  mayPress: people,
  first: "update",
  isOfSession: true,
  run: ({ turnId }, { threadId }, { vm }) => vm.thread(threadId).control({ control: "interrupt", turnId }),
});
