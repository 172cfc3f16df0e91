/** Types a text with tabs, although the program may take them for a key. */
import { action, people } from "./frame/action.ts";
import { messageId } from "./frame/parts.ts";

export const typeAnyway = action({
  name: "type-anyway",
  parts: { messageId },
  mayPress: people,
  first: "update",
  run: async ({ messageId }, press, { inputs }) => {
    await inputs.typeAnyway(press.threadId, messageId);
    await press.show({ content: "✅ Typed.", buttons: [] });
  },
});
