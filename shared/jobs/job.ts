/** A job and its runs: what callers send, and what they are told. */
import * as z from "zod";
import { agentConfigSchema } from "../agent/config.ts";
import { directiveRefSchema } from "../agent/directive-ref.ts";
import { ENGINE_NAMES } from "../agent/engines/engines.ts";
import { mainNameSchema } from "../channel-api.ts";
import { inputValuesSchema } from "../directives/inputs.ts";
import { formatCount } from "../format-count.ts";
import { anyThreadNameSchema, discordIdSchema, knownThreadId } from "../ids.ts";
import { lazy } from "../lazy.ts";
import { sourceSchema } from "../principal.ts";
import { sentWhenSchema, whenSchema } from "./when.ts";

/** A run is named after its job and the second at which it is due, and its thread after the run. */
const MAX_NAME = 40;
const MAX_TEXT_BYTES = 100 * 1024;

export const jobNameSchema = z
  .string()
  .regex(
    new RegExp(`^[a-z][a-z0-9-]{0,${MAX_NAME - 1}}$`),
    `must begin with a letter and have at most ${MAX_NAME} of a-z, 0-9 and -`,
  );

const noNul = (text: z.ZodString) => text.refine((s) => !s.includes("\0"), "must not hold a NUL");
const text = noNul(z.string())
  .refine((s) => s.trim() !== "", "must not be empty")
  .refine(
    // The console's page reads jobs too, and a browser has no Buffer.
    (s) => new TextEncoder().encode(s).length <= MAX_TEXT_BYTES,
    `must be at most ${formatCount(MAX_TEXT_BYTES)} bytes`,
  );
/** Below `REPOS_DIR`. */
const dir = noNul(z.string().min(1, "must not be empty").max(4_096, "must be at most 4,096 characters"));
/** The relay is to make a Discord thread for each thread of the job. */
const home = z.literal("discord", "must be discord").optional();

/** How the agents of a job work. What they may use up are the job's own limits, and its directive's if those are tighter. */
const agent = lazy(() =>
  agentConfigSchema
    .pick({
      model: true,
      systemPrompt: true,
      permissionMode: true,
      tags: true,
      workspace: true,
      params: true,
    })
    .extend({
      engine: z.enum(ENGINE_NAMES).optional(),
      /** `reviewer`, or `project:reviewer` or `user:reviewer` if both have one. */
      directive: z.string().min(1).max(80).optional(),
      /** The values of the directive's inputs. */
      inputs: inputValuesSchema.optional(),
    })
    .partial()
    .strict(),
);

export const whatSchema = lazy(() =>
  z.discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("agent"),
      dir,
      prompt: text,
      /** `each`: a new one for each run. `one`: one for all runs, which goes on. */
      thread: z.enum(["each", "one"], "must be each or one").default("each"),
      agent: agent().optional(),
      home,
    }),
    z
      .strictObject({
        type: z.literal("input"),
        threadId: anyThreadNameSchema.optional(),
        /** In place of a thread: the agent of this name that hears channels, whichever thread it has when the job is due. */
        main: mainNameSchema.optional(),
        text,
      })
      .refine(({ threadId, main }) => (threadId === undefined) !== (main === undefined), {
        error: "must have threadId or main: where does it go in?",
      }),
    /** A terminal that people can open, with this command in it. */
    z.strictObject({ type: z.literal("terminal"), dir, command: text, home }),
    /** A command without a terminal and a model: its output is the run's report. */
    z.strictObject({ type: z.literal("command"), dir, command: text }),
  ]),
);
export type What = z.output<ReturnType<typeof whatSchema>>;

const positive = z.number("must be a number, or null for none").max(1_000_000, "must be at most 1000000");
const whole = positive.int("must be a whole number").min(1, "must be at least 1");
const dollars = positive.min(0.0001, "must be at least 0.0001");

/** Null: none. That is a choice, never a default. */
export const jobLimitsSchema = z.strictObject({
  /** Calls of the model in a run. */
  calls: whole.nullable().default(40),
  seconds: whole.nullable().default(600),
  spendUsd: dollars.nullable().default(1),
  /** The most that all runs cost that are due on one local day of the machine. */
  spendUsdPerDay: dollars.nullable().default(5),
});
export type JobLimits = z.output<typeof jobLimitsSchema>;

const clockTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "must be a time such as 08:30");

const settings = {
  name: jobNameSchema,
  what: whatSchema(),
  /** Due while a run goes on: `skip` counts it, `allow` begins another one. */
  overlap: z.enum(["skip", "allow"], "must be skip or allow").default("skip"),
  /**
   * Due while the sidecar was down: run once, not at all, or when a person says so. Without it, `once` if it is late by
   * less than half a period and at most two hours, else not at all.
   */
  missed: z.enum(["once", "skip", "ask"], "must be once, skip or ask").optional(),
  /** For an input: not while its thread has a turn. */
  idleOnly: z.boolean("must be true or false").default(false),
  limits: jobLimitsSchema.prefault({}),
  /**
   * For an agent or an input: a shell command that is run before it, in its directory. If it prints nothing, there is
   * nothing to do; what it prints goes in, each line marked as text from outside.
   */
  check: text.optional(),
  /**
   * Its agent says by the tool `report` whether all is well, within 5 minutes; people are told if not. Nothing is run
   * while HEARTBEAT.md of the job's directory holds only headings and blank lines.
   */
  heartbeat: z.literal(true, "must be true, or left out").optional(),
  /** The hours in which a job of the clock runs: an instant outside of them is skipped. In the zone of `when`, or the machine's. */
  hours: z
    .strictObject({ from: clockTime, to: clockTime })
    .refine(({ from, to }) => from !== to, "from and to must differ")
    .optional(),
  /** The channel in which people are told what no thread of a run tells; without it, the first one. */
  report: discordIdSchema.optional(),
  /** Nothing is due from then on. */
  expiresAt: z.iso
    .datetime({ offset: true, error: "must be an instant with its zone, such as 2027-01-05T09:00Z" })
    .optional(),
};

export const jobRequestSchema = lazy(() =>
  z.strictObject({
    ...settings,
    when: sentWhenSchema(),
    /** It is made paused: nothing is due before it is resumed. */
    paused: z.boolean("must be true or false").default(false),
  }),
);
/** As a caller sends it. */
export type JobRequest = z.input<ReturnType<typeof jobRequestSchema>>;
/** As the schema leaves it: checked, with its defaults. */
export type CheckedJobRequest = z.output<ReturnType<typeof jobRequestSchema>>;

/** The directive that `what.agent` names: its file, as it was when the job was made or resumed last. */
const keptDirectiveSchema = directiveRefSchema.omit({ inputs: true });
export type KeptDirective = z.output<typeof keptDirectiveSchema>;

/** As the sidecar keeps it. */
export const jobSettingsSchema = lazy(() =>
  z.object({
    ...settings,
    when: whenSchema(),
    /** Once the file is another one, or has changed, the job is paused. */
    directive: keptDirectiveSchema.optional(),
  }),
);
export type JobSettings = z.output<ReturnType<typeof jobSettingsSchema>>;

/** `paused`: nothing is due. `over`: it never is again. */
export const JOB_STATES = ["active", "paused", "over"] as const;
export type JobState = (typeof JOB_STATES)[number];

/**
 * `claimed`: it is due and its row stands. `started`: its thread has its input. `skipped` and `missed` never began.
 * `unknown`: its command had begun when the sidecar died; it is not run again by itself.
 */
export const RUN_STATUSES = ["claimed", "started", "done", "failed", "skipped", "missed", "unknown"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

const instant = z.iso.datetime();

export const jobRunSchema = z.object({
  /** Its thread is called so too. */
  run: z.string(),
  job: z.string(),
  status: z.enum(RUN_STATUSES),
  /** Why it did not begin, or what it failed of; null if neither. */
  reason: z.string().nullable(),
  /** Null if a person ran it. */
  dueAt: instant.nullable(),
  by: sourceSchema,
  claimedAt: instant,
  endedAt: instant.nullable(),
  threadId: knownThreadId.nullable(),
  /** Null if nothing is known of it. */
  costUsd: z.number().nullable(),
  /** How many due instants before this one were missed. */
  missed: z.int(),
  /** The report of its agent; null if there is none. */
  report: z.object({ ok: z.boolean(), text: z.string() }).nullable(),
  /** The end of what a command printed. */
  output: z.string().nullable(),
});
export type JobRun = z.output<typeof jobRunSchema>;

export const jobSchema = lazy(() =>
  jobSettingsSchema().extend({
    state: z.enum(JOB_STATES),
    /** Why it is paused or over, a sentence for a person; null if it is neither. */
    why: z.string().nullable(),
    createdBy: sourceSchema,
    createdAt: instant,
    /** The next three; none of a job that is not active, or that no clock starts. */
    next: z.array(instant),
    lastRun: jobRunSchema.nullable(),
    /** The cost of the runs that were due today, on the machine's local day. */
    spentTodayUsd: z.number(),
  }),
);
export type Job = z.output<ReturnType<typeof jobSchema>>;
