/** Sends what a person wrote while the relay was away. */
import { action } from "./frame/action.ts";
import { messageId } from "./frame/parts.ts";

export const send = action({
  name: "send",
  parts: { messageId },
  right: "type",
  first: "update",
  run: async ({ messageId }, press, { channels, inputs }) => {
    const isInChannel = await channels.takeAfterAll(press.threadId, messageId);
    if (!isInChannel) await inputs.sendAfterAll(press.threadId, messageId);
    await press.show({ content: "✅ Sent.", buttons: [] });
  },
});
