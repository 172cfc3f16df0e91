/** Lets a paused or locked agent go on, with what a person wrote to it. */
import { action } from "./frame/action.ts";
import { messageId } from "./frame/parts.ts";

export const resumeSend = action({
  name: "resume-send",
  parts: { messageId },
  right: "press",
  first: "update",
  run: async ({ messageId }, press, { inputs }) => {
    await inputs.resumeAndSend(press.threadId, messageId, press.userId);
    await press.show({ content: "✅ It goes on, with your message.", buttons: [] });
  },
});
