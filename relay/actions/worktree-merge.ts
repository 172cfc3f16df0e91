/** Merges an agent's worktree into the branch that it left, or rebases it; `/thread worktree` shows both. */
import { AppError } from "../../shared/errors.ts";
import { type MergeHow, mergeHowSchema, type WorktreeReply } from "../../shared/worktree-api.ts";
import { errorSentence, mergedText } from "../content/texts.ts";
import type { Thread } from "../sidecar/names.ts";
import type { VmThread } from "../sidecar/vm.ts";
import { action } from "./frame/action.ts";
import type { Reply } from "./frame/controls.ts";
import { oneOf, threadId } from "./frame/parts.ts";
import { worktreeReply } from "./worktree-remove.ts";

const MAX_BRANCH = 40;

export const worktreeMerge = action({
  name: "worktree-merge",
  parts: { threadId, how: oneOf(mergeHowSchema.options) },
  right: "press",
  first: "update",
  run: async ({ threadId, how }, press, { vm }) => {
    const thread = vm.thread(threadId);
    try {
      await press.show(await mergeAndTell(thread, how));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      // The worktree may be gone or changed since it was shown, so the old buttons may be useless.
      const shown = await thread.getWorktree().then(
        async (found) => worktreeOverview(await thread.get(), found),
        () => ({ content: "", buttons: [] }),
      );
      await press.show({ ...shown, content: `⚠️ ${errorSentence(error)}\n${shown.content}` });
    }
  },
});

/** Merges the worktree, and tells the result and what the worktree holds now. @throws AppError */
export async function mergeAndTell(vm: VmThread, how: MergeHow): Promise<Reply> {
  const told = mergedText(await vm.mergeWorktree(how));
  const reply = worktreeReply(await vm.get(), await vm.getWorktree(), { isMerged: true });
  return { ...reply, content: `${told}\n${reply.content}` };
}

/** Shows what a worktree holds, with the buttons that merge it, and keep or remove it. */
export function worktreeOverview(thread: Thread, found: WorktreeReply): Reply {
  const reply = worktreeReply(thread, found);
  const { left, commits, fileCount } = found;
  if (left === null || commits === 0 || fileCount > 0) return reply;
  const { threadId } = thread;
  const name = left.length > MAX_BRANCH ? `${left.slice(0, MAX_BRANCH)}…` : left;
  const merges = [
    ...worktreeMerge.buttons({ threadId, how: "merge" }, `Merge into ${name}`, "primary"),
    ...worktreeMerge.buttons({ threadId, how: "rebase" }, `Rebase onto ${name}`, "secondary"),
  ];
  return { ...reply, buttons: [...merges, ...(reply.buttons ?? [])] };
}
