import { createHash } from "node:crypto";
import { isOpen, type Thread } from "../../../../shared/api.ts";
import type { RemoveWorktreeReply, WorktreeReply } from "../../../../shared/worktree-api.ts";
import { joinBlocks } from "../../../content/lists/lines.ts";
import { inlineCode, worktreeText } from "../../../texts.ts";
import { toComponents } from "../../buttons.ts";
import { getMeant, nameOf, type Part, threadOption } from "./part.ts";

const MAX_PATH = 300;

export const worktree: Part = {
  define: (part) =>
    part
      .setName("worktree")
      .setDescription("What is in an agent's git worktree; keep it or remove it")
      .addStringOption(threadOption("Which agent; this one if left out")),
  isPrivate: true,
  run: async (interaction, context) => {
    const thread = await getMeant(interaction, context);
    const found = await context.vm.thread(thread.threadId).getWorktree();
    await interaction.editReply(asked(thread, found));
  },
};

/** Says whether a worktree still holds what a person was shown: the files that are not committed. */
export function fingerprintOf({ files, fileCount }: WorktreeReply): string {
  return createHash("sha256")
    .update(JSON.stringify([fileCount, files]))
    .digest("hex")
    .slice(0, 16);
}

/** What it holds, and the buttons that keep or remove it once its thread has ended. */
export function asked(thread: Thread, found: WorktreeReply) {
  const { files, fileCount } = found;
  const more = fileCount - files.length;
  const lines = [
    `${nameOf(thread)} has a worktree, ${worktreeText(found)}.`,
    ...files.map((file) => `- ${inlineCode(file, MAX_PATH)}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
    ...(isOpen(thread.status) ? ["It can be removed once the thread has ended."] : []),
  ];
  const [content = ""] = joinBlocks(lines, 1);
  if (isOpen(thread.status)) return { content };
  const lost = fileCount > 0;
  const label = lost
    ? `Remove it, and lose ${fileCount === 1 ? "the file" : `${fileCount} files`}`
    : "Remove";
  return {
    content,
    components: toComponents([
      { id: "worktree-keep", label: "Keep", style: "secondary" },
      { id: `worktree-remove:${thread.threadId}:${fingerprintOf(found)}`, label, style: "danger" },
    ]) as [],
  };
}

export function removedText({ branch }: RemoveWorktreeReply): string {
  const kept =
    branch === null ? "" : ` Its branch ${inlineCode(branch, MAX_PATH)} stays: only there are its commits.`;
  return `🧹 The worktree is removed.${kept}`;
}
