/** Ends the turn that the person sees; another one is left alone. */
import { action } from "./frame/action.ts";
import { someId } from "./frame/parts.ts";

export const stop = action({
  name: "stop",
  parts: { turnId: someId },
  right: "press",
  first: "update",
  isOfSession: true,
  run: ({ turnId }, { threadId }, { vm }) => vm.thread(threadId).control({ control: "interrupt", turnId }),
});
