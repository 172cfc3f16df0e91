/** What people may limit a thread to. */
import * as z from "zod";
import { lazy } from "../lazy.ts";

export const LIMIT_NAMES = ["turns", "calls", "tokens", "spendUsd", "seconds"] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];
/** Limits that somebody here has set: of a thread, and that of dollars a day over all threads. */
export type OwnLimit = LimitName | "dayUsd";
/** The limits that asks are about: also the provider's own, which nobody here can raise. */
export const ASKED_LIMITS = [...LIMIT_NAMES, "dayUsd", "provider"] as const;
export type AskedLimit = (typeof ASKED_LIMITS)[number];

/** What an ask about a limit says of it. */
export const askedLimitSchema = z.object({
  name: z.enum(ASKED_LIMITS),
  /** For `provider`: 0, because it tells neither. */
  allowed: z.number(),
  used: z.number(),
  /** For `dayUsd`. */
  day: z.string().optional(),
  /** For `provider`: from then on it takes calls again, if that is known. */
  resetsAt: z.iso.datetime().optional(),
});

/** The limit at which the provider has refused to go on with a turn. */
export const usageLimitSchema = z.object({
  /** In the provider's words. */
  message: z.string(),
  resetsAt: z.iso.datetime().optional(),
});

/** `allowed` in all; a person who lets the thread go on raises it by `step`. */
export interface Limit {
  allowed: number;
  step: number;
}
export type Limits = Partial<Record<LimitName, Limit>>;

const whole = (max: number) =>
  z
    .number("must be a number")
    .int("must be a whole number")
    .positive("must be more than 0")
    .max(max, `must be at most ${max}`);

/** The limits of a thread; the one that is reached first makes it ask whether it may go on. */
const shape = {
  turns: whole(1_000_000),
  /** Calls of the model, with those of children. */
  calls: whole(1_000_000),
  /** Tokens of the model: input, output, and what it writes to its cache. */
  tokens: whole(1_000_000_000_000),
  spendUsd: z
    .number("must be a number")
    .min(0.0001, "must be at least 0.0001")
    .max(1_000_000, "must be at most 1000000"),
  /** That turns run, without the time that they wait for people, places or children; with those of children. */
  seconds: whole(365 * 86_400),
};

export const limitsSchema = z.object({
  turns: shape.turns.optional(),
  calls: shape.calls.optional(),
  tokens: shape.tokens.optional(),
  spendUsd: shape.spendUsd.optional(),
  seconds: shape.seconds.optional(),
});

/** Other limits for a thread that goes on: null takes one away, what is not named stays. */
export const limitChangesSchema = lazy(() =>
  z.strictObject({
    turns: shape.turns.nullable().optional(),
    calls: shape.calls.nullable().optional(),
    tokens: shape.tokens.nullable().optional(),
    spendUsd: shape.spendUsd.nullable().optional(),
    seconds: shape.seconds.nullable().optional(),
  }),
);
export type LimitChanges = z.infer<ReturnType<typeof limitChangesSchema>>;
