/**
 * What a thread may use up: turns, calls of the model, tokens, dollars, seconds. Used and allowed are both of the transcript, so they are
 * the same for runner, sidecar and people, and no restart loses them. Pure.
 */
import { formatCount } from "../format-count.ts";
import { addUse, NO_USE, useOfChildren } from "./budget.ts";
import type { OpenAsk, ThreadFold } from "./fold-types.ts";
import {
  LIMIT_NAMES,
  type LimitChanges,
  type LimitName,
  type Limits,
  type OwnLimit,
} from "./limit-schema.ts";
import type { Usage } from "./values.ts";

/** The limit of all threads together, on one local day of the machine. */
export interface DayLimit {
  day: string;
  allowedUsd: number;
  usedUsd: number;
  /** So much is added when a person lets them go on. */
  stepUsd: number;
}

export interface ReachedLimit {
  name: OwnLimit;
  allowed: number;
  used: number;
  day?: string;
  step: number;
}

/** The answer to a limit's ask that lets the thread go on; any other stops it there. */
export const MORE_OPTION = "more";
export const STOP_OPTION = "stop";
/** At the provider's limit: it goes on by itself when that resets. */
export const AT_OPTION = "at";

/**
 * Dollars for a token of input, while the engine has told no price: only for calls of the model whose cost it took to
 * its grave. One of the dearer models, so that too much is counted and not too little.
 */
const PRICE_USD = 5e-6;
/** What the other kinds of tokens cost, in tokens of input: so they are priced by those who sell them. */
const WEIGHTS = { outputTokens: 5, cachedWriteTokens: 1.25, cachedReadTokens: 0.1 };

/** Counts the tokens for a limit, and for people: those that are read from the model's cache again do not count again. */
export function countTokens({ inputTokens, outputTokens, cachedWriteTokens = 0 }: Usage): number {
  return inputTokens + outputTokens + cachedWriteTokens;
}

/** In tokens of input. */
export function weigh({
  inputTokens,
  outputTokens,
  cachedReadTokens = 0,
  cachedWriteTokens = 0,
}: Usage): number {
  return (
    inputTokens +
    WEIGHTS.outputTokens * outputTokens +
    WEIGHTS.cachedWriteTokens * cachedWriteTokens +
    WEIGHTS.cachedReadTokens * cachedReadTokens
  );
}

/** What the turn has cost that has not ended: what the engine has told of it, and its calls of the model since. */
export function openUsd({ open, priceUsd }: Pick<ThreadFold, "open" | "priceUsd">): number {
  return open.toldUsd + weigh(open.unpriced) * (priceUsd ?? PRICE_USD);
}

/** A call that the model has not begun is taken to read at least so much, and to write so much at most. */
const BOUND = { inputTokens: 20_000, outputTokens: 8_000 };

/** What the next call of the model may cost: a bound for all but very long answers. */
export function callBoundUsd({ context, priceUsd }: Pick<ThreadFold, "context" | "priceUsd">): number {
  const inputTokens = 0;
  const cachedWriteTokens = Math.max(BOUND.inputTokens, context?.used ?? 0);
  return weigh({ ...BOUND, inputTokens, cachedWriteTokens }) * (priceUsd ?? PRICE_USD);
}

/** So much is used up by now, with what is set aside for children. @param nowMs as of {@link ownUseOf} */
export function usedOf(fold: ThreadFold, nowMs: number): Record<LimitName, number> {
  const own = ownUseOf(fold, nowMs);
  return { ...own, ...addUse(own, useOfChildren(fold.children, fold.endedUse ?? NO_USE)) };
}

/** So much the thread itself has used. @param nowMs since the epoch: a turn that runs uses up seconds */
export function ownUseOf(fold: ThreadFold, nowMs: number): Record<LimitName, number> {
  const { totals, open, clock } = fold;
  const runningMs = clock.since === null ? 0 : Math.max(0, nowMs - Date.parse(clock.since));
  return {
    turns: totals.begun,
    calls: totals.calls,
    tokens: countTokens(totals.usage) + countTokens(open.usage),
    spendUsd: totals.spendUsd + openUsd(fold),
    seconds: (clock.ms + runningMs) / 1_000,
  };
}

/**
 * The first limit that keeps the thread from going on. A turn that has begun may end, however many are allowed: only
 * one that began beyond them may not.
 */
export function findReached(fold: ThreadFold, nowMs: number, day?: DayLimit): ReachedLimit | undefined {
  const used = usedOf(fold, nowMs);
  for (const name of LIMIT_NAMES) {
    const limit = fold.limits[name];
    if (limit === undefined) continue;
    const { allowed, step } = limit;
    const isReached = name === "turns" && goesOn(fold) ? used[name] > allowed : used[name] >= allowed;
    if (isReached) return { name, allowed, used: used[name], step };
  }
  if (!day || day.usedUsd < day.allowedUsd) return undefined;
  return { name: "dayUsd", allowed: day.allowedUsd, used: day.usedUsd, day: day.day, step: day.stepUsd };
}

/** The engine would take up a turn, not begin one. */
function goesOn({ turn, cutOffs, deliveries }: ThreadFold): boolean {
  return turn !== null || cutOffs.at !== null || deliveries.some(({ status }) => status === "started");
}

/** Limits as a person or a configuration gives them; null takes one away. */
export function withLimits(limits: Limits, given: LimitChanges): Limits {
  const next = { ...limits };
  for (const name of LIMIT_NAMES) {
    const value = given[name];
    if (value === null) delete next[name];
    else if (value !== undefined) next[name] = { allowed: value, step: value };
  }
  return next;
}

/** What an answer to a limit's ask changes: as much again, and what was stopped is taken up; or it ends there. */
export function answerLimit(
  fold: ThreadFold,
  { limit }: OpenAsk,
  optionId: string | undefined,
  ts: string,
): ThreadFold {
  const cutOffs = { count: 0, at: fold.cutOffs.at && ts };
  if (limit?.name === "provider" && optionId !== STOP_OPTION) {
    const { resetsAt } = limit;
    return {
      ...fold,
      cutOffs,
      ...(optionId === AT_OPTION && resetsAt !== undefined && { goOnAt: resetsAt }),
    };
  }
  if (limit && limit.name !== "provider" && optionId === MORE_OPTION) {
    if (limit.name === "dayUsd") {
      const dayRaised = { day: limit.day ?? "", allowedUsd: limit.allowed };
      return { ...fold, dayRaised, cutOffs };
    }
    const { step, allowed } = fold.limits[limit.name] ?? { step: limit.allowed, allowed: limit.allowed };
    const raised = { step, allowed: Math.max(allowed, limit.allowed) + step };
    return { ...fold, limits: { ...fold.limits, [limit.name]: raised }, cutOffs };
  }
  return { ...dropTurn(fold), stoppedAt: limit?.name ?? null };
}

/** The turn that waits to be taken up is over: a person does not want it any more. */
export function dropTurn(fold: ThreadFold): ThreadFold {
  const { goOnAt: _, ...rest } = fold;
  return {
    ...rest,
    cutOffs: { count: 0, at: null },
    deliveries: fold.deliveries.filter(({ status }) => status !== "started"),
  };
}

const UNITS: Record<OwnLimit, (value: number) => string> = {
  turns: (value) => plural(value, "turn"),
  calls: (value) => plural(value, "call of the model", "calls of the model"),
  tokens: (value) => plural(value, "token"),
  spendUsd: (value) => `$${value.toFixed(value < 0.1 ? 4 : 2)}`,
  seconds: (value) => plural(Math.round(value), "second"),
  dayUsd: (value) => UNITS.spendUsd(value),
};

/** `10 turns`, `$2.00`. */
export function describeLimit(name: OwnLimit, value: number): string {
  return UNITS[name](value);
}

function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : nouns}`;
}
