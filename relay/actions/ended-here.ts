/** An agent that has ended goes on in its own thread, with the message that a person wrote there. */
import { action } from "./frame/action.ts";
import { messageId } from "./frame/parts.ts";

export const endedHere = action({
  name: "ended-here",
  parts: { messageId },
  right: "type",
  first: "update",
  run: async ({ messageId }, press, { ended, inputs }) => {
    const { threadId, userId } = press;
    await ended.goOnHere({ threadId, messageId, userId });
    await press.show({ content: "▶ It goes on here.", buttons: [] });
    await inputs.takeRest(threadId, messageId, threadId);
  },
});
