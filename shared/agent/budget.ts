/**
 * Budgets: what a thread's children may use of its limits, and have used. A child's limits are set aside when it is spawned; what
 * it has left is given back when it has ended. So all together stay within the parent's limits, whoever works when. Pure.
 */
import * as z from "zod";
import { LIMIT_NAMES, type LimitName, type limitsSchema } from "./limit-schema.ts";

/** How much a child has used. Seconds add up too: a parent's clock stands while it waits for a child. */
export const useSchema = z.object({
  turns: z.number().nonnegative(),
  /** Calls of the model. */
  calls: z.number().nonnegative().default(0),
  tokens: z.number().nonnegative(),
  spendUsd: z.number().nonnegative(),
  /** An older version did not count them. */
  seconds: z.number().nonnegative().default(0),
});
export type Use = z.infer<typeof useSchema>;

export type LimitsOfChild = z.infer<typeof limitsSchema>;

/** The least of each that a thread can be given. */
const LEAST: Record<LimitName, number> = { turns: 1, calls: 1, tokens: 1, spendUsd: 0.0001, seconds: 1 };

export const NO_USE: Use = { turns: 0, calls: 0, tokens: 0, spendUsd: 0, seconds: 0 };

/** What is set aside for open children, and what those that have ended have used. */
export function useOfChildren(open: readonly { limits?: LimitsOfChild | undefined }[], ended: Use): Use {
  const sum = (name: LimitName) =>
    open.reduce((total, { limits }) => total + (limits?.[name] ?? 0), ended[name]);
  return useOf(sum);
}

export function addUse(a: Use, b: Use): Use {
  return useOf((name) => a[name] + b[name]);
}

function useOf(of: (name: LimitName) => number): Use {
  return {
    turns: of("turns"),
    calls: of("calls"),
    tokens: of("tokens"),
    spendUsd: of("spendUsd"),
    seconds: of("seconds"),
  };
}

/** What the turns of a thread have cost jobs: each of their inputs has a share. */
export interface Charges {
  /** The inputs that the turn has read, or had, if none runs: how many, and the ids of those that jobs have sent. */
  count: number;
  jobs: readonly string[];
  /** The part of what the turn has cost that is charged. */
  chargedUsd: number;
  /** The newest inputs of jobs: what each has cost, and how often the model was called for it. */
  inputs: readonly { messageId: string; usd: number; calls: number }[];
}

export type Share = { limits: LimitsOfChild } | { refused: LimitName; left: number };

/**
 * The limits of a new child: as wanted, or half of what its parent has left, so that something is left for the parent
 * and for other children.
 * @param left of each limit that the parent has
 */
export function shareOf(left: LimitsOfChild, wanted: LimitsOfChild): Share {
  const limits: LimitsOfChild = {};
  for (const name of LIMIT_NAMES) {
    const most = left[name];
    const asked = wanted[name];
    if (most === undefined) {
      if (asked !== undefined) limits[name] = asked;
      continue;
    }
    const half = name === "spendUsd" ? Math.floor((most / 2) * 1e4) / 1e4 : Math.floor(most / 2);
    const given = asked ?? Math.max(LEAST[name], half);
    if (given > most) return { refused: name, left: Math.max(0, most) };
    limits[name] = given;
  }
  return { limits };
}

/** What a child that has ended may use from now on: nothing more without a person. Undefined if it has no limit. */
export function limitsAtEnd(limits: LimitsOfChild, used: Use): LimitsOfChild | undefined {
  const set = LIMIT_NAMES.filter((name) => limits[name] !== undefined);
  if (set.length === 0) return undefined;
  const whole = (name: LimitName) => (name === "spendUsd" ? used[name] : Math.ceil(used[name]));
  return Object.fromEntries(set.map((name) => [name, Math.max(LEAST[name], whole(name))]));
}
