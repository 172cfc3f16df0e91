/** Lets an agent go on after a failure. */
import { action, people } from "./frame/action.ts";

export const goOn = action({
  name: "go-on",
  parts: {},
  mayPress: people,
  first: "update",
  isOfSession: true,
  run: (_, { threadId }, { vm }) => vm.thread(threadId).control({ control: "resume" }),
});
