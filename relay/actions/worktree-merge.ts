/** Merges an agent's worktree into the branch that it left, or rebases it; `/thread worktree` shows both. */
import { AppError } from "../../shared/errors.ts";
import { type MergeHow, mergeHowSchema, type WorktreeReply } from "../../shared/worktree-api.ts";
import type { Thread } from "../sidecar/names.ts";
import type { VmThread } from "../sidecar/vm.ts";
import { errorSentence, mergedText } from "../texts.ts";
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
      // What was shown may be gone or changed, so that the buttons are no use any more.
      const shown = await thread.getWorktree().then(
        async (found) => worktreeOverview(await thread.get(), found),
        () => ({ content: "", buttons: [] }),
      );
      await press.show({ ...shown, content: `⚠️ ${errorSentence(error)}\n${shown.content}` });
    }
  },
});

/** Merges it, and says what came of that and what it holds now. @throws AppError */
export async function mergeAndTell(vm: VmThread, how: MergeHow): Promise<Reply> {
  const told = mergedText(await vm.mergeWorktree(how));
  const reply = worktreeReply(await vm.get(), await vm.getWorktree(), { isMerged: true });
  return { ...reply, content: `${told}\n${reply.content}` };
}

/** What it holds, with the buttons that merge what is in it, and keep or remove it. */
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
