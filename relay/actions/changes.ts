/** Shows what a turn changed in its git work tree: in the answer if it is short, else as a file. */
import type { DiffReply } from "../../shared/agent/api.ts";
import { writeOutHidden } from "../../shared/clean-text.ts";
import { renderParts } from "../content/transcript/ask-detail.ts";
import { action } from "./frame/action.ts";
import type { Reply } from "./frame/controls.ts";
import { someId } from "./frame/parts.ts";
import { MAX_FILE_BYTES, MAX_UNITS, whole } from "./frame/whole.ts";

export const changes = action({
  name: "changes",
  parts: { turnId: someId },
  right: "read",
  first: "private reply",
  run: async ({ turnId }, press, { vm }) =>
    press.show(wholeDiff(await vm.thread(press.threadId).getDiff({ turnId, limit: MAX_FILE_BYTES }))),
});

function wholeDiff({ patch, fileCount, added, removed, isCut }: DiffReply): Reply {
  const count = `${fileCount} ${fileCount === 1 ? "file" : "files"} +${added} −${removed}`;
  const head = `**${count}**${isCut ? `\nThese are the first ${MAX_FILE_BYTES} bytes of it.` : ""}`;
  const part = { name: "", language: "diff", text: patch };
  return whole(head, "turn.diff", writeOutHidden(patch), renderParts([part], MAX_UNITS));
}
