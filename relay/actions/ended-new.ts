/** Begins another agent that knows the conversation of one that has ended, or is locked. */
import { threadWaitText } from "../content/texts.ts";
import { action } from "./frame/action.ts";
import { messageId } from "./frame/parts.ts";

export const endedNew = action({
  name: "ended-new",
  parts: { messageId },
  right: "run",
  first: "update",
  run: async ({ messageId }, press, { ended, inputs, now }) => {
    const { threadId, userId } = press;
    const made = await ended.startNew({ threadId, messageId, userId }, (ms) => {
      // The thread is made even if this answer does not get through; the last answer comes all the same.
      press.show({ content: threadWaitText(ms, now()) }).catch(() => undefined);
    });
    await press.show({ content: `↳ It goes on in <#${made}>.`, buttons: [] });
    await inputs.takeRest(threadId, messageId, made);
  },
});
