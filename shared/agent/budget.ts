/**
 * Budgets: what a thread's children may use of its limits, and have used. A child's limits are set aside when it is spawned; what
 * it has left is given back when it has ended. So all together stay within the parent's limits, whoever works when. Pure.
 */
import * as z from "zod";
import { LIMIT_NAMES, type LimitName, type limitsSchema } from "./limit-schema.ts";

/** These add up over threads. Seconds do not: they pass for parent and child at once. */
export const SUMMED_LIMITS = ["turns", "tokens", "spendUsd"] as const;
type Summed = (typeof SUMMED_LIMITS)[number];

/** Of what a child has used. */
export const useSchema = z.object({
  turns: z.number().nonnegative(),
  tokens: z.number().nonnegative(),
  spendUsd: z.number().nonnegative(),
});
export type Use = z.infer<typeof useSchema>;

export type LimitsOfChild = z.infer<typeof limitsSchema>;

/** The least of each that a thread can be given. */
const LEAST: Record<LimitName, number> = { turns: 1, tokens: 1, spendUsd: 0.0001, seconds: 1 };

export const NO_USE: Use = { turns: 0, tokens: 0, spendUsd: 0 };

/** What is set aside for open children, and what those that have ended have used. */
export function useOfChildren(open: readonly { limits?: LimitsOfChild | undefined }[], ended: Use): Use {
  const sum = (name: Summed) =>
    open.reduce((total, { limits }) => total + (limits?.[name] ?? 0), ended[name]);
  return { turns: sum("turns"), tokens: sum("tokens"), spendUsd: sum("spendUsd") };
}

export function addUse(a: Use, b: Use): Use {
  return { turns: a.turns + b.turns, tokens: a.tokens + b.tokens, spendUsd: a.spendUsd + b.spendUsd };
}

export type Share = { limits: LimitsOfChild } | { refused: LimitName; left: number };

/**
 * The limits of a new child: as wanted, or half of what its parent has left, so that something is left for the parent
 * and for other children; of seconds all.
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
    const half = name === "seconds" ? most : most / 2;
    const given =
      asked ?? Math.max(LEAST[name], name === "spendUsd" ? Math.floor(half * 1e4) / 1e4 : Math.floor(half));
    if (given > most) return { refused: name, left: Math.max(0, most) };
    limits[name] = given;
  }
  return { limits };
}

/** What a child that has ended may use from now on: nothing more without a person. Undefined if it has no limit. */
export function limitsAtEnd(limits: LimitsOfChild, used: Use): LimitsOfChild | undefined {
  const set = SUMMED_LIMITS.filter((name) => limits[name] !== undefined);
  if (set.length === 0) return undefined;
  const whole = (name: Summed) => (name === "spendUsd" ? used[name] : Math.ceil(used[name]));
  return Object.fromEntries(set.map((name) => [name, Math.max(LEAST[name], whole(name))]));
}
