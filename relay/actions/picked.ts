/** Sends what was chosen from the lists of an agent's questions. */
import { action } from "./frame/action.ts";
import { choose } from "./frame/asks.ts";
import { choices, someId } from "./frame/parts.ts";

export const picked = action({
  name: "picked",
  parts: { requestId: someId, chosen: choices },
  right: "decide",
  first: "update",
  isOfSession: true,
  run: ({ requestId, chosen }, press, { vm }) => choose(vm.thread(press.threadId), requestId, chosen),
});
