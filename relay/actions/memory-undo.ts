/** Takes a write to memory back. */
import { inline } from "../content/transcript/inline.ts";
import { action } from "./frame/action.ts";
import { someId } from "./frame/parts.ts";

export const memoryUndo = action({
  name: "memory-undo",
  parts: { writeId: someId },
  right: "decide",
  first: "update",
  run: async ({ writeId }, press, { vm }) => {
    const { path } = await vm.memory.undo(writeId);
    await press.say(`↩ <@${press.userId}>: ${inline(path, 100)} is as it was before that.`);
  },
});
