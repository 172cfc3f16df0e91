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
