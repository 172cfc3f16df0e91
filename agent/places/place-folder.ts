/**
 * The places of all threads of this machine: so many may have a turn at once. Files in one folder, so that they hold
 * while the sidecar is down. A thread claims a place by a file with a name that nobody uses again, and only then counts
 * the others' living claims. If they leave no place, it takes its own back. Of two at once each counts the other, so
 * there are never more than allowed. A name says all that the order needs; only what stands in the way is opened, to
 * see whether its thread still lives. What the dead have left may be removed by anyone.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { MAX_COUNTED, orderOf, placeId, type Waiter } from "../../shared/agent/place-order.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import { removeOldParts } from "../folder/old-parts.ts";
import { holderSchema, isLive, type LiveHolder } from "../locks/alive.ts";

/** A thread lives as long as its runner or its engine does. */
const claimSchema = z.object({ v: z.literal(1), holders: z.array(holderSchema).max(4) });

interface Entry extends Waiter {
  name: string;
  isHeld: boolean;
  /** It waits without a process: it has its turn in the queue, and takes no place before it has been started. */
  isAsleep: boolean;
}

export interface Claimant {
  threadId: string;
  person: string;
  isBack: boolean;
  sinceMs: number;
}

/** How many people are remembered with when they were served last: a caller may make up any number of names. */
const MAX_SERVED = 1_000;
/** When a thread of a person got a place last. */
const SERVED = /^last\.(\d{1,16})\.([0-9a-f]{12})$/;
const NAME = /^(held|wait|sleep)\.(\d{1,16})\.([01])\.([0-9a-f]{12})\.([0-9a-f]{16})\.[0-9a-f-]{36}$/;

export class PlaceFolder {
  readonly #folder: string;
  readonly #max: number;

  constructor(folder: string, max: number) {
    this.#folder = folder;
    this.#max = max;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    removeOldParts(folder);
  }

  /**
   * Takes a place, or puts the thread into the queue.
   * @param holders whoever lives as long as the thread is at work
   * @returns undefined if it has a place; else how many come before it
   */
  take(claimant: Claimant, holders: readonly LiveHolder[]): number | undefined {
    const id = placeId(claimant.threadId);
    const entries = this.#read();
    // One that it held for a runner and an engine that are dead is nobody's: others may be taking it right now.
    if (this.#living(entries.filter((entry) => entry.isHeld && entry.id === id)).length > 0) return undefined;
    const own = entries.filter((entry) => !entry.isHeld && entry.id === id);
    const held = this.#living(entries.filter(({ isHeld }) => isHeld));
    // The claim on disk, which the others see, decides here too: else two could each take the other for the first.
    const known = own.find(({ isBack }) => isBack === claimant.isBack);
    const self = known ?? { ...claimant, id, person: personId(claimant.person) };
    const { waiting, mine, awake } = this.#queue(self, entries, held);
    if (awake < this.#max - held.length) {
      const name = this.#write("held", claimant, id, holders);
      const others = this.#living(this.#read().filter((entry) => entry.isHeld && entry.name !== name));
      if (others.filter((entry) => entry.id !== id).length < this.#max) {
        this.#remove(own);
        this.#noteServed(personId(claimant.person));
        return undefined;
      }
      this.#remove([{ name }]);
    }
    if (!known || known.isAsleep) {
      this.#write("wait", { ...claimant, sinceMs: self.sinceMs }, id, holders);
      this.#remove(own);
    }
    return Math.min(mine, waiting);
  }

  /** Gives the thread's place other holders. Only for a thread that has one: nobody is asked. */
  keep(claimant: Claimant, holders: readonly LiveHolder[]): void {
    const id = placeId(claimant.threadId);
    const old = this.#read().filter((entry) => entry.id === id);
    this.#write("held", claimant, id, holders);
    this.#remove(old);
  }

  /** Waits on without a process, for as long as the file is there. */
  sleep(claimant: Claimant, file: string): void {
    const id = placeId(claimant.threadId);
    const old = this.#read().filter((entry) => entry.id === id);
    const sinceMs = old.find(({ isBack }) => isBack === claimant.isBack)?.sinceMs ?? claimant.sinceMs;
    this.#write("sleep", { ...claimant, sinceMs }, id, [{ file }]);
    this.#remove(old);
  }

  /** Gives the place back, or leaves the queue. */
  release(threadId: string): void {
    const id = placeId(threadId);
    this.#remove(this.#read().filter((entry) => entry.id === id));
  }

  /** Whether it has a place that nobody may take: its runner or its engine lives. */
  has(threadId: string): boolean {
    const id = placeId(threadId);
    return this.#read().some((entry) => entry.isHeld && entry.id === id && this.#isLiving(entry.name));
  }

  /** Where the thread stands among those that wait. The dead before it, as far as they matter, are removed. */
  #queue(self: Waiter, entries: readonly Entry[], held: readonly Entry[]) {
    const busy = held.map(({ person }) => person);
    let waiting = entries.filter((entry) => !entry.isHeld && entry.id !== self.id && !isIn(held, entry));
    const served = new Map(this.#served().map(({ person, ms }) => [person, ms]));
    for (;;) {
      const order = orderOf([...waiting, self], busy, served);
      const mine = order.indexOf(self);
      const free = Math.max(0, this.#max - held.length);
      const before = order.slice(0, mine) as Entry[];
      const awake = before.filter(({ isAsleep }) => !isAsleep);
      const count = Math.max(free, MAX_COUNTED);
      const ahead = [...new Set([...before.slice(0, count), ...awake.slice(0, count)])];
      const living = this.#living(ahead);
      if (living.length === ahead.length) return { mine, awake: awake.length, waiting: waiting.length };
      waiting = waiting.filter((entry) => !ahead.includes(entry) || living.includes(entry));
    }
  }

  #served(): { name: string; ms: number; person: string }[] {
    const found = readdirSync(this.#folder).flatMap((name) => {
      const [, ms, person] = SERVED.exec(name) ?? [];
      return person === undefined ? [] : [{ name, ms: Number(ms), person }];
    });
    return found.sort((a, b) => a.ms - b.ms);
  }

  #noteServed(person: string): void {
    const served = this.#served();
    const old = served.filter((one) => one.person === person);
    const ms = Math.max(Date.now(), ...old.map((one) => one.ms + 1));
    writeWhole(join(this.#folder, `last.${ms}.${person}`), "");
    const others = served.filter((one) => one.person !== person);
    this.#remove([...old, ...others.slice(0, Math.max(0, others.length - MAX_SERVED + 1))]);
  }

  #living(entries: readonly Entry[]): Entry[] {
    const dead = entries.filter(({ name }) => !this.#isLiving(name));
    this.#remove(dead);
    return entries.filter((entry) => !dead.includes(entry));
  }

  #isLiving(name: string): boolean {
    try {
      const claim = claimSchema.safeParse(JSON.parse(readFileSync(join(this.#folder, name), "utf8")));
      return claim.success && claim.data.holders.some(isLive);
    } catch (error) {
      if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return false;
      throw error;
    }
  }

  #read(): Entry[] {
    return readdirSync(this.#folder).flatMap((name) => {
      const [, kind, since, isBack, person = "", id = ""] = NAME.exec(name) ?? [];
      if (kind === undefined) return [];
      const state = { isHeld: kind === "held", isAsleep: kind === "sleep" };
      return [{ name, ...state, sinceMs: Number(since), isBack: isBack === "1", person, id }];
    });
  }

  /** Whole as soon as it has its name. */
  #write(
    kind: "held" | "wait" | "sleep",
    claimant: Claimant,
    id: string,
    holders: readonly LiveHolder[],
  ): string {
    const { sinceMs, isBack, person } = claimant;
    const name = [kind, Math.trunc(sinceMs), isBack ? 1 : 0, personId(person), id, randomUUID()].join(".");
    writeWhole(join(this.#folder, name), `${JSON.stringify({ v: 1, holders })}\n`);
    return name;
  }

  #remove(entries: readonly { name: string }[]): void {
    for (const { name } of entries) rmSync(join(this.#folder, name), { force: true });
  }
}

/** A thread that has just got its place may still stand in the queue. */
function isIn(held: readonly Entry[], { id }: Entry): boolean {
  return held.some((entry) => entry.id === id);
}

function personId(person: string): string {
  return createHash("sha256").update(person).digest("hex").slice(0, 12);
}
