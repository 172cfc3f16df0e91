/**
 * What all threads together have spent today: a folder for each day, a file in it for each thread, which its runner
 * alone writes. So the limit over all holds while the sidecar is down, and no kill forgets what was spent.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { type DayLimit, ownUseOf } from "../../shared/agent/limits.ts";
import { SPEND_CAP, SPEND_FOLDER } from "../../shared/agent/markers.ts";
import { findJson, replaceJson } from "../folder/json-file.ts";
import { holderSchema, isLive, type LiveHolder } from "../locks/alive.ts";

const spentSchema = z.object({ baseUsd: z.number(), spentUsd: z.number().nonnegative() });
const raiseSchema = z.object({ allowedUsd: z.number().positive() });

const RAISE = "raise-";
const CALL = "call-";
/** What a call that died may have cost counts so long: then the thread's next runner has counted it. */
const MAX_UNSETTLED_MS = 30_000;
/** Room for one call of the model, from before it begins until what it has cost is counted. */
const callSchema = z.object({
  amountUsd: z.number().nonnegative(),
  atMs: z.number(),
  holders: z.array(holderSchema).max(4),
});
/** Others' files are read anew so often at most, while nothing of this thread changes. */
const LOOK_INTERVAL_MS = 1_000;

export interface DaySpendOptions {
  /** The folder in which all threads note what they spend. */
  folder: string;
  capUsd: number;
  threadId: string;
  /** ISO: another thread may have had its id, and have spent something today. */
  createdAt: string;
}

/** Undefined if nobody limits what is spent a day. @param env of the runner */
export function findDaySpend(
  env: Record<string, string>,
  thread: Pick<DaySpendOptions, "threadId" | "createdAt">,
): DaySpend | undefined {
  const { [SPEND_FOLDER]: folder, [SPEND_CAP]: cap } = env;
  const { threadId, createdAt } = thread;
  return folder && cap ? new DaySpend({ folder, capUsd: Number(cap), threadId, createdAt }) : undefined;
}

export class DaySpend {
  readonly #options: DaySpendOptions;
  #day = "";
  #own = { baseUsd: 0, spentUsd: 0 };
  /** The call that this runner has taken room for. */
  #reserved: string | undefined;
  #known: { limit: DayLimit; atMs: number } | undefined;

  constructor(options: DaySpendOptions) {
    this.#options = options;
  }

  /** Writes down what this thread has spent, and tells what is left of the day for all. */
  settle(fold: ThreadFold, now: Date): DayLimit {
    this.note(ownUseOf(fold, now.getTime()).spendUsd, now);
    if (fold.dayRaised) this.raise(fold.dayRaised);
    return this.look(now);
  }

  /**
   * @param totalUsd what the thread has spent since its beginning. It may be less than before: a call whose price was
   * not known is taken for a dear one until the engine tells what it has cost.
   */
  note(totalUsd: number, now: Date): void {
    const day = dayOf(now);
    if (day !== this.#day) this.#begin(day, totalUsd);
    const baseUsd = Math.min(this.#own.baseUsd, totalUsd);
    const spentUsd = totalUsd - baseUsd;
    if (baseUsd === this.#own.baseUsd && spentUsd === this.#own.spentUsd) return;
    this.#own = { baseUsd, spentUsd };
    this.#known = undefined;
    replaceJson(this.#ownPath(), this.#own);
  }

  /** A person has let all go on beyond so much on that day; said twice, it counts once. */
  raise({ day, allowedUsd }: { day: string; allowedUsd: number }): void {
    if (day !== this.#day) return;
    const raised = allowedUsd + this.#options.capUsd;
    const path = join(this.#folder(), `${RAISE}${raised.toFixed(6)}.json`);
    if (findJson(path) !== undefined) return;
    replaceJson(path, { allowedUsd: raised }, true);
    this.#known = undefined;
  }

  /** What is allowed and spent today, over all. */
  look(now: Date): DayLimit {
    if (this.#known && now.getTime() - this.#known.atMs < LOOK_INTERVAL_MS) return this.#known.limit;
    let usedUsd = 0;
    let allowedUsd = this.#options.capUsd;
    for (const name of readdirSync(this.#folder())) {
      if (!name.endsWith(".json") || name.startsWith(CALL)) continue; // one that is just being replaced
      const value = findJson(join(this.#folder(), name));
      if (name.startsWith(RAISE))
        allowedUsd = Math.max(allowedUsd, raiseSchema.safeParse(value).data?.allowedUsd ?? 0);
      else usedUsd += spentSchema.safeParse(value).data?.spentUsd ?? 0;
    }
    const limit = { day: this.#day, allowedUsd, usedUsd, stepUsd: this.#options.capUsd };
    this.#known = { limit, atMs: now.getTime() };
    return limit;
  }

  /**
   * Takes room for a call of the model: all that runs at once fits into what is left of the day. A call for which
   * there is not enough left may begin only alone. So the day is exceeded by one call at most. Of two that take the
   * last room at once each sees the other, and both try again.
   * @param key of the call: asked again for the same one, it has its room
   * @param holders whoever lives as long as the call may run
   */
  reserve(key: string, amountUsd: number, holders: readonly LiveHolder[], now: Date): boolean {
    if (this.#reserved === key) return true;
    this.release();
    replaceJson(this.#callPath(), { amountUsd, atMs: now.getTime(), holders });
    this.#known = undefined;
    // Before what was spent: a call is counted first and gives its room back then, so it is seen in one of the two.
    const othersUsd = this.#othersUsd(now.getTime());
    const { usedUsd, allowedUsd } = this.look(now);
    const isFree =
      othersUsd === undefined ? usedUsd < allowedUsd : usedUsd + othersUsd + amountUsd <= allowedUsd;
    if (isFree) this.#reserved = key;
    else this.#removeCall();
    return isFree;
  }

  /** What the call has cost is counted. */
  release(): void {
    if (this.#reserved === "") return;
    this.#reserved = "";
    this.#removeCall();
  }

  #removeCall(): void {
    rmSync(this.#callPath(), { force: true });
  }

  /** What others' calls may still cost; undefined if none runs. */
  #othersUsd(nowMs: number): number | undefined {
    const own = `${CALL}${this.#options.threadId}.json`;
    const calls = readdirSync(this.#folder()).flatMap((name) => {
      if (!name.startsWith(CALL) || !name.endsWith(".json") || name === own) return [];
      const call = callSchema.safeParse(findJson(join(this.#folder(), name))).data;
      return call && (nowMs - call.atMs < MAX_UNSETTLED_MS || call.holders.some(isLive)) ? [call] : [];
    });
    return calls.length === 0 ? undefined : calls.reduce((sum, { amountUsd }) => sum + amountUsd, 0);
  }

  #callPath(): string {
    return join(this.#folder(), `${CALL}${this.#options.threadId}.json`);
  }

  #begin(day: string, totalUsd: number): void {
    this.#day = day;
    this.#known = undefined;
    mkdirSync(this.#folder(), { recursive: true, mode: 0o700 });
    for (const old of readdirSync(this.#options.folder).sort().slice(0, -2)) {
      rmSync(join(this.#options.folder, old), { recursive: true, force: true });
    }
    const kept = spentSchema.safeParse(findJson(this.#ownPath())).data;
    this.#own = kept ?? { baseUsd: totalUsd, spentUsd: 0 };
    // What is spent from here on is of this day: the next runner must find where the day began.
    if (!kept) replaceJson(this.#ownPath(), this.#own);
  }

  #folder(): string {
    return join(this.#options.folder, this.#day);
  }

  #ownPath(): string {
    const { threadId, createdAt } = this.#options;
    return join(this.#folder(), `thread-${threadId}.${Date.parse(createdAt).toString(36)}.json`);
  }
}

/** The machine's local day, as people there have it. */
function dayOf(now: Date): string {
  const part = (value: number) => String(value).padStart(2, "0");
  return `${now.getFullYear()}-${part(now.getMonth() + 1)}-${part(now.getDate())}`;
}
