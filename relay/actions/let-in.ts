/** Lets in what a guest wrote: it goes in in the name of the person who presses. */
import { action } from "./frame/action.ts";
import { messageId } from "./frame/parts.ts";

export const letIn = action({
  name: "let-in",
  parts: { messageId },
  right: "type",
  first: "update",
  run: async ({ messageId }, press, { channels, inputs }) => {
    const { threadId, userId } = press;
    const isInChannel = await channels.takeAfterAll(threadId, messageId, userId);
    if (!isInChannel) await inputs.sendAfterAll(threadId, messageId, userId);
    await press.show({ content: `👍 <@${userId}> let it in.`, buttons: [] });
  },
});
