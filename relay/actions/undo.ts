/** Puts back what a turn changed, or what an undo put back. */
import { inline } from "../content/transcript/inline.ts";
import { action } from "./frame/action.ts";
import { someId } from "./frame/parts.ts";

export const undo = action({
  name: "undo",
  parts: { turnId: someId },
  right: "press",
  first: "update",
  run: async ({ turnId }, press, { vm }) => {
    const outcome = await vm.thread(press.threadId).undo(turnId);
    // The thread is over: the messages of one that goes on show it themselves.
    if (outcome !== undefined) await press.say(`↩ <@${press.userId}>: ${inline(outcome, 800)}.`);
  },
});
