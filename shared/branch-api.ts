/** The part of the sidecar's HTTP API by which a thread is branched. */
import * as z from "zod";
import { agentConfigSchema } from "./agent/config.ts";
import { limitsSchema } from "./agent/limit-schema.ts";
import { createRequestSchema } from "./api.ts";
import { knownThreadId, threadIdSchema } from "./ids.ts";

const { model, permissionMode, tags } = agentConfigSchema.shape;
const { command, title, home } = createRequestSchema.shape;

export const branchRequestSchema = z
  .strictObject({
    /** The id of the branch. */
    threadId: threadIdSchema,
    /** An event of the transcript: the branch knows what the agent had read and said by then. */
    seq: z.int().positive().optional(),
    /** Instead of `seq`: a message of a person or of the agent. Without either, the newest point. */
    messageId: z.string().min(1).max(200).optional(),
    /** Instead of both: the last point before text from outside got in. */
    beforeOutside: z.boolean().default(false),
    /** The branch's first message; without it, the branch waits for one. */
    text: command.optional(),
    /** The same as `plain` of an input, for `text`. */
    plain: z.boolean().optional(),
    /** Without it, its first message's, or its parent's. */
    title,
    home,
    /** The files as they were then, in a git worktree of the branch's own; else it works where its parent does. */
    files: z.boolean().default(false),
    /** Whether the parent takes no more messages once its turn has ended. */
    lockParent: z.boolean().default(true),
    /** What is to be other than in the parent. */
    agent: z
      .strictObject({
        model,
        permissionMode,
        limits: limitsSchema.strict().optional(),
        tags: tags.unwrap().optional(),
      })
      .default({}),
  })
  .refine(({ seq, messageId }) => seq === undefined || messageId === undefined, {
    error: "must not be given together with seq",
    path: ["messageId"],
  })
  .refine(({ seq, messageId, beforeOutside }) => !beforeOutside || (seq ?? messageId) === undefined, {
    error: "must not be given together with seq or messageId",
    path: ["beforeOutside"],
  });
export type BranchRequest = z.output<typeof branchRequestSchema>;

export const branchReplySchema = z.object({
  created: z.literal(true),
  /** Where the branch left. */
  origin: z.object({ threadId: knownThreadId, seq: z.int() }),
});
export type BranchReply = z.infer<typeof branchReplySchema>;
