/** Lets a paused or locked agent go on, with what a person wrote to it. */
import { action, people } from "./frame/action.ts";
import { messageId } from "./frame/parts.ts";

export const resumeSend = action({
  name: "resume-send",
  parts: { messageId },
  mayPress: people,
  first: "update",
  run: async ({ messageId }, press, { inputs }) => {
    await inputs.resumeAndSend(press.threadId, messageId, press.userId);
    await press.show({ content: "✅ It goes on, with your message.", buttons: [] });
  },
});
