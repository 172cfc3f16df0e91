/**
 * `thread.json`: what a thread is. The sidecar writes it before the first runner starts, and once more if an agent that
 * hears channels is handed over to another directory.
 */
import * as z from "zod";
import { knownThreadId } from "../ids.ts";
import { sourceSchema } from "../principal.ts";
import { directiveRefSchema } from "./directive-ref.ts";
import { DEFAULT_ENGINE, ENGINE_NAMES } from "./engines/engines.ts";
import { keptGateSchema, MAX_GATES } from "./gates.ts";
import { limitsSchema } from "./limit-schema.ts";
import { needsSchema, paramsSchema } from "./params.ts";
import { MAX_TOOLS, toolNameSchema } from "./tool-names.ts";

const str = z.string();
const seconds = z
  .number()
  .int()
  .positive()
  .max(30 * 86_400);

/** Linux ends a program's name and its arguments at a NUL. */
const word = (max: number) =>
  str.max(max).refine((text) => !text.includes("\0"), "must hold no NUL character");

/** What the person who creates a thread may choose. A change of it is a branch. */
export const agentConfigSchema = z.object({
  engine: z.enum(ENGINE_NAMES).default(DEFAULT_ENGINE),
  /** The program behind an engine that leaves it open; if it is not set: the sidecar's own, or the engine's. */
  program: word(4_096)
    .min(1)
    .refine(
      (name) => !name.includes("/") || name.startsWith("/"),
      "must be a name to look up on PATH, or an absolute path",
    )
    .optional(),
  /** Arguments of that program. */
  args: z.array(word(10_000)).max(100).optional(),
  /** A `single` thread takes no message after its first turn. */
  mode: z.enum(["conversation", "single"]).default("conversation"),
  model: str.min(1).max(200).optional(),
  /** Appended to the engine's own. */
  systemPrompt: str.max(200_000).optional(),
  permissionMode: str.min(1).max(50).optional(),
  /** The engine's own tools that it has alone; those of threadmux come besides. */
  tools: z.array(toolNameSchema).max(MAX_TOOLS).optional(),
  disallowedTools: z.array(toolNameSchema).max(MAX_TOOLS).optional(),
  /**
   * `message`: its own text is private, and it speaks with the tool `message` alone. Each of its inputs says where it
   * comes from. Not set: what it writes is shown where its thread is.
   */
  voice: z.enum(["message"], 'must be "message", or left out').optional(),
  /** The name of the main agent that it is: its memory is `main/<name>`. The sidecar alone sets it. */
  mainAgent: str.regex(/^[a-z0-9-]{1,32}$/).optional(),
  /** The directive that it was made by. What that says stands in the other fields. */
  directive: directiveRefSchema.optional(),
  parentThreadId: knownThreadId.optional(),
  originThreadId: knownThreadId.optional(),
  tags: z.array(str.min(1).max(50)).max(20).default([]),
  limits: limitsSchema.default({}),
  params: paramsSchema.default({}),
  needs: needsSchema.default([]),
  /** JSON Schema (draft 2020-12 or draft-07) that each turn's result is held to. */
  outputSchema: z.record(str, z.unknown()).optional(),
  /** Points of its work at which somebody decides whether it goes on. */
  gates: z.array(keptGateSchema).max(MAX_GATES).optional(),
  workspace: z.enum(["shared", "worktree"]).default("shared"),
});
export type AgentConfig = z.infer<typeof agentConfigSchema>;

/** How the engine is started: the person's settings on this machine. Prompts and secrets are in files, not here. */
export const launchSchema = z.object({
  /** Looked up in PATH if it has no slash. */
  program: str.min(1),
  /** Come first, before those that the engine's adapter adds. */
  args: z.array(str).default([]),
  /** A file with the MCP servers of this thread, given to the engine by its path. */
  mcpConfigFile: str.optional(),
  /** Tools that need no ask, such as `mcp__threadmux`. */
  allowedTools: z.array(str).default([]),
  /** Whether it may be let do everything without asking; the runner takes it from its environment. */
  allowBypass: z.boolean().optional(),
  /** The sidecar's state folder, which no agent may look into; the runner takes it from its environment. */
  stateDir: str.optional(),
  /** Which of the person's settings are loaded; not set: all, as when they start it by hand. */
  settingSources: str.optional(),
});

export const timeoutsSchema = z.object({
  /** Engine and runner end after this long without a turn or a background task. */
  idleSeconds: seconds.default(120),
  /** An ask that is open for this long is parked: the engine ends, the ask stays. */
  askParkMinutes: z.number().positive().max(43_200).default(60),
  /** An ask that is open for this long is refused; not set: never. */
  askTimeoutSeconds: seconds.optional(),
  /** How long a call waits for a file that another one writes before the model is told. */
  lockSeconds: seconds.default(30),
});

export const threadConfigSchema = z.object({
  v: z.literal(1),
  threadId: str.min(1).max(64).brand<"ThreadId">(),
  /** What people call it: `#12`. */
  number: z.number().int().positive().optional(),
  createdBy: sourceSchema,
  createdAt: z.iso.datetime(),
  /** The engine's conversation, if there was one before the thread had a folder. */
  sessionId: str.optional(),
  /** Absolute: the directory that the agent works in. */
  dir: str.startsWith("/"),
  agent: agentConfigSchema,
  launch: launchSchema,
  timeouts: timeoutsSchema.prefault({}),
  /** The worktree of an agent that works in one of its own: `dir` lies in it. */
  worktree: z
    .object({
      /** The repository's own files. */
      root: str.startsWith("/"),
      path: str.startsWith("/"),
      branch: str.min(1).max(200),
      /** The branch that the repository was on when this one left it. */
      left: str.min(1).max(1_000).optional(),
      /** The person's command that is run there once, before the agent begins. */
      setup: str.min(1).optional(),
      /** The files as git keeps them; those of the commit if it is left out. */
      tree: str.regex(/^[0-9a-f]{40,64}$/).optional(),
      /** The branch's point is in the midst of a turn: they are from before it. */
      isMidTurn: z.boolean().optional(),
    })
    .optional(),
  /** The place at which a branch left its parent. */
  origin: z
    .object({
      threadId: knownThreadId,
      seq: z.number().int().positive(),
      messageId: str.optional(),
      /** The parent's conversation and the point in it, if the engine can fork there. */
      sessionId: str.optional(),
      at: str.optional(),
    })
    .optional(),
  /** A conversation that a person began by hand: the thread goes on from this line of it, in a fork. */
  taken: z.object({ sessionId: str, at: str }).optional(),
  /** The place where an agent worked that was handed over to this directory, and its engine's conversation there. */
  handedOver: z
    .object({ from: str.startsWith("/"), sessionId: str.optional(), at: z.iso.datetime() })
    .optional(),
});
export type ThreadConfig = z.infer<typeof threadConfigSchema>;

/** The engine's conversation that the thread's own begins as a fork of, and the line of it; empty if there is none. */
export function forkOf({ origin, taken }: Pick<ThreadConfig, "origin" | "taken">): {
  sessionId?: string | undefined;
  at?: string | undefined;
} {
  return taken ?? { sessionId: origin?.sessionId, at: origin?.at };
}
