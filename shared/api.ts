/**
 * The sidecar's HTTP API as zod schemas: the server parses requests with them, the client parses replies.
 * Sizes are bytes, offsets are positions in the log in bytes, times are ISO 8601 in UTC.
 */
import * as z from "zod";
import { inputIdSchema, transcriptReplySchema } from "./agent/api.ts";
import { agentConfigSchema } from "./agent/config.ts";
import { ENGINE_NAMES } from "./agent/engines/engines.ts";
import { OUTPUTS } from "./agent/events.ts";
import { AWAITING, THREAD_STATUSES } from "./agent/files.ts";
import { holdsSchema } from "./agent/holds.ts";
import { initialMessagesSchema } from "./agent/initial-messages.ts";
import { limitsSchema } from "./agent/limit-schema.ts";
import { paramsSchema } from "./agent/params.ts";
import { browserShownSchema } from "./browser/state.ts";
import { budgetSchema, budgetUseSchema } from "./budget.ts";
import type { Chunk } from "./chunk.ts";
import { inputValuesSchema } from "./directives/inputs.ts";
import { ERROR_CODES } from "./errors.ts";
import { viewSchema } from "./follow/spec.ts";
import { formatCount } from "./format-count.ts";
import { homeSchema, MAX_HOMELESS, newHomeSchema } from "./home-api.ts";
import { anyThreadNameSchema, knownThreadId, threadIdSchema } from "./ids.ts";
import { kindFactsSchema, type ThreadType, threadTypeSchema } from "./kinds.ts";
import { sourceSchema } from "./principal.ts";
import { cleanTitle } from "./title.ts";
import { MAX_WAIT_MS } from "./wait.ts";

/** JSON bodies above this are answered `too_large`. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** The kernel's line discipline cuts a line at 4,096 bytes without a word; we refuse a little before. */
export const MAX_LINE_BYTES = 4_000;
/** Linux takes at most 128 KiB for one argument (MAX_ARG_STRLEN); a command or prompt is one. */
export const MAX_COMMAND_BYTES = 100 * 1024;
export const MAX_OUTPUT_BYTES = 1024 * 1024;
/** What one reply for many threads may hold in all. */
export const MAX_OUTPUTS_BYTES = 4 * 1024 * 1024;
export const DEFAULT_OUTPUT_BYTES = 64 * 1024;
export const DEFAULT_COLS = 80;
export const DEFAULT_ROWS = 24;

const noNul = (what: string) => z.string().refine((s) => !s.includes("\0"), `${what} must not hold a NUL`);

export { type ThreadType, threadTypeSchema };

/**
 * `running`: a process (an agent: a turn) runs. `exited`: a terminal's process ended, the thread is still open.
 * `killed`: ended on request. `lost`: the tmux server died under a terminal.
 *
 * Of agents: `idle`: it waits for a message. `waiting`: it waits for an answer of a person. `queued`: it waits for a
 * free place. `paused`: a person holds it. `failed`: it can't go on by itself. `locked`: it was branched.
 * `completed`: it takes no second message (`agent.mode: single`), and its turn is over.
 */
export const threadStatusSchema = z.enum([...THREAD_STATUSES, "exited", "lost"]);
export type ThreadStatus = z.infer<typeof threadStatusSchema>;

/** An open thread counts against `MAX_THREADS` and can be killed; an ended one only has its log and row. */
export function isOpen(status: ThreadStatus): boolean {
  return status !== "killed" && status !== "lost";
}

const colsSchema = z.int().min(20).max(500);
const rowsSchema = z.int().min(5).max(200);

/** Kept without control characters, on one line, and cut to 100 characters. */
const titleSchema = z
  .string()
  .refine((s) => cleanTitle(s) !== "", "must hold something that can be seen")
  .max(1_000, "must be at most 1,000 characters");

/** A field that nobody knows is refused: a limit that is misspelt would be none. */
const agentRequestSchema = agentConfigSchema
  .extend({
    /** `reviewer`, or `project:reviewer` or `user:reviewer` if both have one. What it says holds, or less. */
    directive: z.string().min(1).max(80).optional(),
    /** The values of the directive's inputs. */
    inputs: inputValuesSchema.optional(),
    /** Not set: the sidecar's default (`AGENT_ENGINE`). */
    engine: z.enum(ENGINE_NAMES).optional(),
    limits: limitsSchema.strict().default({}),
    params: paramsSchema.strict().default({}),
  })
  .strict();

export const createRequestSchema = z.strictObject({
  threadId: threadIdSchema,
  type: threadTypeSchema,
  /** Directory below `REPOS_DIR`; `~` for one of the thread's own in user space. */
  dir: noNul("dir").min(1, "must not be empty").max(4_096, "must be at most 4,096 characters"),
  /**
   * Which directory the caller sees at `dir`: device, inode and birth time in nanoseconds. The thread is refused if it is
   * another one here, such as on another machine.
   */
  dirId: z
    .string()
    .regex(/^\d{1,20}:\d{1,20}:\d{1,20}$/, "must be <device>:<inode>:<birth time>")
    .optional(),
  /** A shell command line for a terminal, the prompt for an agent. */
  command: noNul("command")
    .refine((s) => s.trim() !== "", "must not be empty")
    .refine(
      (s) => Buffer.byteLength(s) <= MAX_COMMAND_BYTES,
      `must be at most ${formatCount(MAX_COMMAND_BYTES)} bytes`,
    ),
  /** What people call it; without it, the directory and the command. */
  title: titleSchema.optional(),
  cols: colsSchema.default(DEFAULT_COLS),
  rows: rowsSchema.default(DEFAULT_ROWS),
  /** The most that its processes may take of the machine together. The sidecar's settings bound what it leaves out. */
  budget: budgetSchema.optional(),
  /** The id of an agent's first message: an input of the same id does nothing. */
  inputId: inputIdSchema.optional(),
  /** How an agent is to work; of agents alone. It never changes afterwards. */
  agent: agentRequestSchema.optional(),
  /** Agents only: the same as `plain` of an input, for `command`. */
  plain: z.boolean().optional(),
  /** A conversation that was held elsewhere, which the agent knows; of agents alone. */
  initialMessages: initialMessagesSchema.optional(),
  /** Its Discord thread; without it, nobody wants it in Discord. */
  home: newHomeSchema.optional(),
  /** Looks whether it could be made, and makes nothing: the answer, `created: false`, or the refusal is the same. */
  dryRun: z.boolean().optional(),
});
/** What a caller sends: `cols` and `rows` may be left out. */
export type CreateRequest = z.input<typeof createRequestSchema>;
/** What of its directive is not honoured, a sentence each. */
const notes = z.array(z.string()).optional();
export const createReplySchema = z.object({ created: z.boolean(), tmuxSession: z.string(), notes });
export type CreateReply = z.infer<typeof createReplySchema>;

/** In a query, where everything is text: digits alone. */
const wholeNumber = (min: number, max: number) =>
  z.preprocess(
    (text) => (typeof text === "string" && /^\d+$/.test(text) ? Number(text) : Number.NaN),
    z.int(`must be a whole number from ${min} to ${max}`).min(min).max(max),
  );

export const outputQuerySchema = z.strictObject({
  since: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0),
  limit: wholeNumber(1, MAX_OUTPUT_BYTES).default(DEFAULT_OUTPUT_BYTES),
  /** How long to wait where there is nothing new: the answer comes the moment there is. */
  waitMs: wholeNumber(0, MAX_WAIT_MS).default(0),
  /** The status that the caller knows: while waiting, another one is news too. */
  status: threadStatusSchema.optional(),
});
export type OutputQuery = z.input<typeof outputQuerySchema>;

export const outputReplySchema = z.object({
  /** Raw terminal output from `since`, UTF-8; bytes that are no UTF-8 read as U+FFFD. */
  output: z.string(),
  /** The position where `output` begins: `since`, or later if what was asked for is gone. */
  start: z.int(),
  /** The position behind `output`: the next `since`. */
  offset: z.int(),
  /** A digit for each U+FFFD in `output`: how many bytes it stands for. Left out if each stands for itself (3). */
  replaced: z.string().optional(),
  status: threadStatusSchema,
  /** False only once nothing more will come. */
  processRunning: z.boolean(),
  exitCode: z.int().nullable(),
  /** `SIGKILL` and so on, where the process died by one (known by the shell's 128 + n). */
  signal: z.string().nullable(),
  /** The oldest position that can still be read; output asked for below it begins there. */
  firstOffset: z.int(),
  /** How many of the bytes asked for are gone for good. */
  gone: z.int(),
  /** Whether more is in the log already. */
  more: z.boolean(),
  /** The terminal's size now. */
  cols: z.int(),
  rows: z.int(),
  /** There if the thread follows logs: what it shows of them. */
  view: viewSchema.optional(),
  /** There if the thread is a browser that has shown something. */
  browser: browserShownSchema.optional(),
});
export type OutputReply = z.infer<typeof outputReplySchema>;

/** A reply's output with its place in the log. */
export function chunkOf({ output, start, offset, replaced }: OutputReply): Chunk {
  return { text: output, start, end: offset, ...(replaced === undefined ? {} : { replaced }) };
}

/** One request for the output of many threads. Each gets an equal share of {@link MAX_OUTPUTS_BYTES}. */
export const outputsRequestSchema = z.strictObject({
  since: z.record(anyThreadNameSchema, z.int().min(0)),
  /** Agents' transcripts to read in the same request, each from a position. */
  transcripts: z.record(anyThreadNameSchema, z.int().min(0)).default({}),
  /** Threads that want a Discord thread, as far as the caller knows: others are news. */
  homeless: z.array(threadIdSchema).max(MAX_HOMELESS).optional(),
  /** The state of the served channels that the caller knows: another one is news. */
  channels: z.string().max(100).optional(),
  /** The state of what agents want said in channels that the caller knows: another one is news. */
  spoken: z.string().max(100).optional(),
  limit: z.int().min(1).max(MAX_OUTPUT_BYTES).default(DEFAULT_OUTPUT_BYTES),
  waitMs: z.int().min(0).max(MAX_WAIT_MS).default(0),
  /** As `status` of the single request, by thread. */
  status: z.record(anyThreadNameSchema, threadStatusSchema).optional(),
});
export type OutputsRequest = z.input<typeof outputsRequestSchema>;
/** Threads that do not exist are left out. */
export const outputsReplySchema = z.object({
  threads: z.record(z.string(), outputReplySchema),
  transcripts: z.record(z.string(), transcriptReplySchema),
  /** If the request asked: all that want a Discord thread. */
  homeless: z.array(knownThreadId).optional(),
  /** If the request asked: the state of the served channels now. */
  channels: z.string().optional(),
  /** If the request asked: the state of what agents want said. */
  spoken: z.string().optional(),
});
export type OutputsReply = z.infer<typeof outputsReplySchema>;

export const threadSchema = z.object({
  threadId: knownThreadId,
  /** `reviewer-1760000000`: what it was made by and when. No other thread ever gets it; it is taken wherever an id is. */
  name: z.string().optional(),
  type: threadTypeSchema,
  /** There if the kind is none of those that come with threadmux. */
  facts: kindFactsSchema.optional(),
  /** Relative to `REPOS_DIR`; `.` is `REPOS_DIR` itself. */
  dir: z.string(),
  command: z.string(),
  /** What people call it: the Discord thread's name, or one made of `dir` and `command`. */
  title: z.string(),
  status: threadStatusSchema,
  createdBy: sourceSchema,
  createdAt: z.iso.datetime(),
  /** When the process ended or the thread was killed or lost; null while neither happened. */
  endedAt: z.iso.datetime().nullable(),
  processRunning: z.boolean(),
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  /** The log's end. */
  offset: z.int(),
  /** What the log takes on disk. */
  logBytes: z.int(),
  cols: z.int(),
  rows: z.int(),
  /**
   * Until then the terminal is held to as many cells as 120 × 40: on a larger one its program kept all threads
   * waiting. Null if it is not held.
   */
  heldSmallUntil: z.iso.datetime().nullable(),
  /** How many messages an agent has not taken yet. */
  waiting: z.int(),
  /** What people call an agent thread: `#12`; null for terminals. */
  number: z.int().nullable(),
  /** Which engine an agent works with, such as `claude`; null for terminals. */
  engine: z.string().nullish(),
  /** `message`: an agent's own words are private; it speaks with a tool. */
  voice: z.enum(["message"]).optional(),
  /** What an agent waits for a person to decide; null if nothing. */
  awaiting: z.enum(AWAITING).nullable(),
  /** What an agent does this moment, such as the title of the call that runs; null if it does nothing. */
  doing: z.string().nullable(),
  /** How many calls of an agent's turn have begun, and when the turn began; null if none runs. */
  turn: z.object({ step: z.int(), startedAt: z.iso.datetime() }).nullish(),
  /**
   * Whether the result of the last turn that ended fits the `outputSchema` of the agent. Null before the first
   * end, and if that turn owed no result: it was stopped, or failed.
   */
  output: z.enum(OUTPUTS).nullish(),
  /** The files that an agent with a turn holds; nobody else's agent writes them meanwhile. */
  holds: holdsSchema.nullish(),
  /** The thread, and the place in it, from which a branch, or a thread that was made to know another one, goes on. */
  origin: z.object({ threadId: knownThreadId, number: z.int().nullable(), seq: z.int() }).nullable(),
  /** When an agent last did something; null for terminals, and before it did anything. */
  activeAt: z.iso.datetime().nullable(),
  /** Why an agent can't go on although its transcript does not say so, a sentence for a person; null if it can. */
  problem: z.string().nullable(),
  /** The relay's own mark; null until it has set one. */
  delivery: z.looseObject({ offset: z.int() }).nullable(),
  /** Its budget, and what it takes of that now; null if it has none. */
  budget: budgetUseSchema.nullish(),
  /** The logs that a terminal follows, and what it shows of them; null if it follows none. */
  follows: viewSchema.extend({ service: z.string() }).nullish(),
  /** What a browser shows; null before it has shown anything. */
  browser: browserShownSchema.nullish(),
  /** Null if nobody wants it in Discord. */
  home: homeSchema.nullish(),
  /** The name of the directive that an agent was made by; null if it was made by none. */
  directive: z.string().nullish(),
  /** The thread that spawned it, or that it was branched from. */
  parentId: knownThreadId.nullish(),
});
export type Thread = z.infer<typeof threadSchema>;

export const titleRequestSchema = z.strictObject({ title: titleSchema });

export const resizeRequestSchema = z.strictObject({ cols: colsSchema, rows: rowsSchema });
export type ResizeRequest = z.infer<typeof resizeRequestSchema>;
export const resizeReplySchema = z.object({ resized: z.literal(true) });

export const logQuerySchema = z.strictObject({ format: z.enum(["raw", "text"]).default("raw") });
export type LogQuery = z.input<typeof logQuerySchema>;

export const listQuerySchema = z.strictObject({ status: z.enum(["open", "ended", "all"]).default("open") });
export type ListQuery = z.input<typeof listQuerySchema>;
export const listReplySchema = z.object({ threads: z.array(threadSchema) });

export const lastWordsSchema = z.object({
  threadId: knownThreadId,
  /** What it printed last, without its looks: at most 20 lines of 200 characters, the newest last. */
  lines: z.array(z.string()),
});
export type LastWords = z.infer<typeof lastWordsSchema>;
/** The last words of the newest 200 threads. */
export const lastWordsReplySchema = z.object({ threads: z.array(lastWordsSchema) });

export const killReplySchema = z.object({
  killed: z.literal(true),
  /** The last 10 lines that the terminal showed. */
  summary: z.string(),
  exitCode: z.int().nullable(),
  /** Processes of the thread that could not be ended. */
  survivors: z.int(),
});
export type KillReply = z.infer<typeof killReplySchema>;

export const errorReplySchema = z.object({ error: z.string(), code: z.enum(ERROR_CODES) });
