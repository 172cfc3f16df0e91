/** Sends what a person wrote while the relay was away. */
import { action, people } from "./frame/action.ts";
import { messageId } from "./frame/parts.ts";

export const send = action({
  name: "send",
  parts: { messageId },
  mayPress: people,
  first: "update",
  run: async ({ messageId }, press, { channel, inputs }) => {
    if (press.threadId === channel.id) await channel.takeAfterAll(messageId);
    else await inputs.sendAfterAll(press.threadId, messageId);
    await press.show({ content: "✅ Sent.", buttons: [] });
  },
});
