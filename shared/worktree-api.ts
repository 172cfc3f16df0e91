/** The part of the sidecar's HTTP API that is about agents' worktrees. */
import * as z from "zod";

export const worktreeReplySchema = z.object({
  path: z.string(),
  /** That it was made on. */
  branch: z.string(),
  /** Changed, staged and new files; the first 20 of them. */
  files: z.array(z.string()),
  fileCount: z.int(),
  /** Commits that no other branch and no tag has. */
  commits: z.int(),
  /** The branch that the repository was on when it was made, which it can be merged into; null if it was on none. */
  left: z.string().nullable(),
});
export type WorktreeReply = z.infer<typeof worktreeReplySchema>;

export const removeWorktreeRequestSchema = z.strictObject({
  /** Also if files are not committed, or commits on no branch: they are lost then. */
  force: z.boolean().default(false),
});

export const removeWorktreeReplySchema = z.object({
  removed: z.literal(true),
  /** The branch, if it stays because no other has its commits. */
  branch: z.string().nullable(),
});
export type RemoveWorktreeReply = z.infer<typeof removeWorktreeReplySchema>;

/**
 * `merge`: a commit of both, or the worktree's commits as they are if the other branch had none of its own. `rebase`: its
 * commits are made anew on top of the other branch, and the worktree goes on from there.
 */
export const mergeHowSchema = z.enum(["merge", "rebase"]);
export type MergeHow = z.infer<typeof mergeHowSchema>;

export const mergeWorktreeRequestSchema = z.strictObject({ how: mergeHowSchema.default("merge") });

export const mergeWorktreeReplySchema = z.object({
  merged: z.literal(true),
  /** The branch that the worktree left. */
  into: z.string(),
  /** Where that branch is now. */
  commit: z.string(),
  /** How many of the worktree's commits that branch did not have; of a rebase, how many were made anew. */
  commits: z.int(),
  /** It had none of its own since, so no commit was made for the merge. */
  isFastForward: z.boolean(),
  /** It is checked out in the repository, whose files were changed too. */
  isCheckedOut: z.boolean(),
  /** The worktree's newest commit before it was rebased; null if it was not. */
  rebasedFrom: z.string().nullable(),
  /** Hooks of the repository that git would have run; they were not. */
  hooks: z.array(z.string()),
});
export type MergeWorktreeReply = z.infer<typeof mergeWorktreeReplySchema>;
