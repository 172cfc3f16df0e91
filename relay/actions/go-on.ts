/** Lets an agent go on after a failure. */
import { action } from "./frame/action.ts";

export const goOn = action({
  name: "go-on",
  parts: {},
  right: "press",
  first: "update",
  isOfSession: true,
  run: (_, { threadId }, { vm }) => vm.thread(threadId).control({ control: "resume" }),
});
