/** Types a text with tabs, although the program may take them for a key. */
import { action } from "./frame/action.ts";
import { messageId } from "./frame/parts.ts";

export const typeAnyway = action({
  name: "type-anyway",
  parts: { messageId },
  right: "type",
  first: "update",
  run: async ({ messageId }, press, { inputs }) => {
    await inputs.typeAnyway(press.threadId, messageId);
    await press.show({ content: "✅ Typed.", buttons: [] });
  },
});
