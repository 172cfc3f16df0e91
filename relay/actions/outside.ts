/** The buttons by which a person decides about a thread that has read text from outside. */
import { threadIdSchema } from "../../shared/ids.ts";
import { action } from "./frame/action.ts";
import { oneOf, whole } from "./frame/parts.ts";

export const outside = action({
  name: "outside",
  parts: { what: oneOf(["trust", "anew"]), seq: whole },
  right: "decide",
  first: "reply",
  run: async ({ what, seq }, press, { vm }) => {
    const thread = vm.thread(press.threadId);
    if (what === "trust") {
      await thread.control({ control: "unmark" });
      await press.show({ content: `🔓 <@${press.userId}> trusts what this thread has read.`, buttons: [] });
      return;
    }
    // The same mark begins one thread anew, however often it is pressed.
    await thread.beginAnew(threadIdSchema.parse(`anew-${press.threadId}-${seq}`));
    await press.show({
      content: `↳ <@${press.userId}> begins anew without what came from outside, in a thread of its own; this one takes no more messages.`,
      buttons: [],
    });
  },
});
