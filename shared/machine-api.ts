/** The part of the API about the sidecar and its machine. */
import * as z from "zod";
import { RESOURCES } from "./budget.ts";
import { SANDBOX_FORMS, SANDBOX_MODES } from "./sandbox/modes.ts";

export const reposQuerySchema = z.strictObject({ prefix: z.string().max(4_096).default("") });
export const reposReplySchema = z.object({
  repos: z.array(z.object({ dir: z.string(), branch: z.string().optional(), dirty: z.boolean().optional() })),
});
export type Repo = z.infer<typeof reposReplySchema>["repos"][number];

/** `form`: how agents' commands are kept in, null if they are not; `problem`: why not, if they should be. */
const sandboxHealthSchema = z.object({
  mode: z.enum(SANDBOX_MODES),
  form: z.enum(SANDBOX_FORMS).nullable(),
  problem: z.string().nullable(),
});
export type SandboxHealth = z.infer<typeof sandboxHealthSchema>;

export const healthReplySchema = z.object({
  ok: z.boolean(),
  version: z.string(),
  uptimeSeconds: z.number(),
  tmux: z.object({ up: z.boolean(), version: z.string().nullable(), downForSeconds: z.number().nullable() }),
  /** The disk of the state folder; `ok` is false if there is next to nothing left. */
  disk: z.object({ ok: z.boolean(), freeBytes: z.number() }),
  /** Not there: a sidecar of an earlier version. */
  sandbox: sandboxHealthSchema.optional(),
  /**
   * Control groups: whether each thread has one of its own, and why nothing holds a budget of memory, cpu or pids. Not
   * there: a sidecar of an earlier version.
   */
  groups: z
    .object({ areMade: z.boolean(), problems: z.partialRecord(z.enum(RESOURCES), z.string()) })
    .optional(),
  /** `overdue`: jobs that should have begun some minutes ago, with ten names at most; `ok` is false if there is any. */
  jobs: z.object({ ok: z.boolean(), overdue: z.int(), names: z.array(z.string()).optional() }).optional(),
});
export type HealthReply = z.infer<typeof healthReplySchema>;
