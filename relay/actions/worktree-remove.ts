/** Removes an agent's worktree as it was shown, once its thread has ended; `/thread worktree` shows it. */
import { createHash } from "node:crypto";
import { isOpen } from "../../shared/api.ts";
import type { RemoveWorktreeReply, WorktreeReply } from "../../shared/worktree-api.ts";
import { joinBlocks } from "../content/lists/lines.ts";
import { errorSentence, inlineCode, nameOf, worktreeText } from "../content/texts.ts";
import type { Thread } from "../sidecar/names.ts";
import { action } from "./frame/action.ts";
import type { Reply } from "./frame/controls.ts";
import { fingerprint, threadId } from "./frame/parts.ts";
import { worktreeKeep } from "./worktree-keep.ts";

const MAX_PATH = 300;

export const worktreeRemove = action({
  name: "worktree-remove",
  parts: { threadId, shown: fingerprint },
  right: "press",
  first: "update",
  run: async ({ threadId, shown }, press, { vm, threads, endings }) => {
    const thread = vm.thread(threadId);
    const [row, found] = [await thread.get(), await thread.getWorktree()];
    // If it holds other files by now than the person was shown, it is shown anew.
    if (fingerprintOf(found) !== shown)
      return press.show(worktreeReply(row, found, { isMerged: isOpen(row.status) }));
    const remove = async () => removedText(await thread.removeWorktree(found.fileCount > 0));
    const show = (content: string) => press.show({ content, buttons: [] });
    const live = threads.find(threadId);
    if (!isOpen(row.status)) return show(await remove());
    if (!live) {
      await thread.kill();
      return show(await remove());
    }
    // The answer must come before the thread is archived: Discord takes none in an archived thread.
    await endings.kill(live.threadId, press.userId, async () => {
      const told = await remove().catch((error: unknown) => `⚠️ ${errorSentence(error)}`);
      await show(`${nameOf(row)} has ended. ${told}`);
    });
  },
});

/**
 * Shows what a worktree holds. The buttons that keep or remove it are there once its thread has ended, or if it has
 * just been merged, because it may have served its purpose then.
 */
export function worktreeReply(thread: Thread, found: WorktreeReply, { isMerged = false } = {}): Reply {
  const { files, fileCount } = found;
  const more = fileCount - files.length;
  const lines = [
    `${nameOf(thread)} has a worktree, ${worktreeText(found)}.`,
    ...files.map((file) => `- ${inlineCode(file, MAX_PATH)}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
    ...(isOpen(thread.status) && !isMerged ? ["It can be removed once the thread has ended."] : []),
  ];
  const [content = ""] = joinBlocks(lines, 1);
  if (isOpen(thread.status) && !isMerged) return { content };
  const lost = fileCount > 0 ? ` it, and lose ${fileCount === 1 ? "the file" : `${fileCount} files`}` : "";
  const label = isOpen(thread.status) ? `End the thread, remove${lost || " it"}` : `Remove${lost}`;
  const { threadId } = thread;
  return {
    content,
    buttons: [
      ...worktreeKeep.buttons({}, "Keep", "secondary"),
      ...worktreeRemove.buttons({ threadId, shown: fingerprintOf(found) }, label, "danger"),
    ],
  };
}

/** Says whether a worktree still holds what a person was shown: the files that are not committed. */
function fingerprintOf({ files, fileCount }: WorktreeReply): string {
  return createHash("sha256")
    .update(JSON.stringify([fileCount, files]))
    .digest("hex")
    .slice(0, 16);
}

function removedText({ branch }: RemoveWorktreeReply): string {
  const kept =
    branch === null ? "" : ` Its branch ${inlineCode(branch, MAX_PATH)} stays: only there are its commits.`;
  return `🧹 The worktree is removed.${kept}`;
}
