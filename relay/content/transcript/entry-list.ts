/** The entries that are still told, in order. Forgetting one takes no look at those behind it. */
import type { Activity, Ask, Entry, Skipped } from "./entries.ts";
import { mayCarry, messagesOf } from "./render.ts";

export type NewEntry = Entry extends infer E ? (E extends Entry ? Omit<E, "since" | "reach"> : never) : never;

/** The first and the last `seq` of entries that are left out. */
export type SkippedRange = readonly [from: number, to: number];

/** Most messages that may wait. Discord takes about one a second, so more would be old before they are read. */
const MAX_WAITING = 1_000;
/** The number of newest messages that are told all the same if more wait. */
const KEPT_WAITING = 200;

/** What is known of asks besides their entries. */
export interface AskMessages {
  /** Whether there may be a message of it: its buttons must go once it is answered. */
  has(ask: Ask): boolean;
  /** It is left out: asked again, it is a new one. */
  leaveOut(ask: Ask): void;
}
const NO_MESSAGES: AskMessages = { has: () => true, leaveOut: () => {} };

export class EntryList {
  readonly #entries: Entry[] = [];
  /** The newest entry, also when it is forgotten, and the newest that is worth the thread's buttons. */
  readonly #newest = new Map<"of all" | "carrier", Entry>();
  /** The number of messages of all entries that may be left out. */
  #waiting = 0;
  /** Ranges that an earlier process has left out and whose entries are not all there yet, in order. */
  #pending: SkippedRange[];
  readonly #messages: AskMessages;

  /** @param messages the asks that have a message in Discord, or may have one */
  constructor(skipped: readonly SkippedRange[] = [], messages: AskMessages = NO_MESSAGES) {
    this.#pending = [...skipped];
    this.#messages = messages;
  }

  get all(): readonly Entry[] {
    return this.#entries;
  }

  /** The entries before the first range that is about to be left out. */
  get told(): readonly Entry[] {
    const [next] = this.#pending;
    if (!next) return this.#entries;
    const end = this.#entries.findIndex(({ seq }) => seq >= next[0]);
    return end < 0 ? this.#entries : this.#entries.slice(0, end);
  }

  /** The newest entry that is worth the thread's buttons; undefined if there is none, or if it is forgotten. */
  get carrier(): Entry | undefined {
    return this.#newest.get("carrier");
  }

  /** The event from which all of them can be told again. */
  get since(): number | undefined {
    return this.#entries[0]?.reach;
  }

  /** The activity that goes on: nothing stands below it. */
  get openActivity(): Activity | undefined {
    const last = this.#newest.get("of all");
    return last?.kind === "activity" && !last.isSealed ? last : undefined;
  }

  /** @param since as {@link Entry} has it */
  push<E extends NewEntry>(entry: E, since: number): E & { since: number; reach: number } {
    const pushed = { ...entry, since, reach: since };
    this.#skipPending(entry.seq);
    // A turn may begin with what was said before entries that are no part of it.
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const before = this.#entries[i] as Entry;
      if (before.reach <= since) break;
      before.reach = since;
    }
    this.#entries.push(pushed);
    this.#waiting += weightOf(pushed);
    this.#newest.set("of all", pushed);
    if (mayCarry(pushed)) this.#newest.set("carrier", pushed);
    return pushed;
  }

  /** The newest entry, an activity, belongs to a turn from now on. */
  adopt(activity: Activity, turnId: string): void {
    activity.turnId = turnId;
    this.#newest.set("carrier", activity);
  }

  /** Forgets these of the first `count` entries. */
  forget(entries: ReadonlySet<Entry>, count: number): void {
    if (entries.size === 0) return;
    for (const entry of entries) this.#waiting -= weightOf(entry);
    const first = this.#entries.slice(0, count);
    this.#entries.splice(0, count, ...first.filter((entry) => !entries.has(entry)));
    if (this.carrier && entries.has(this.carrier)) this.#newest.delete("carrier");
  }

  /**
   * Leaves out entries if too many wait: one entry says how many messages they would have been. Failures, files and
   * marks are never left out, nor are the newest {@link KEPT_WAITING} messages, nor an ask that is open or was shown.
   * @param listed the number of first entries that stay: their messages may be on their way
   * @returns the range that was left out; undefined if there was none
   */
  skipOld(listed: number): SkippedRange | undefined {
    if (this.#waiting <= MAX_WAITING || this.#pending.length > 0) return undefined;
    let kept = 0;
    let end = this.#entries.length - 1;
    while (end > listed && kept < KEPT_WAITING) {
      end -= 1;
      kept += weightOf(this.#entries[end] as Entry);
    }
    const left = this.#entries.slice(listed, end).filter((entry) => this.#maySkip(entry));
    const [first, last] = [left[0], left.at(-1)];
    // There is nothing new to leave out if all of these were left out before.
    if (!first || !last || left.every(({ kind }) => kind === "skipped")) return undefined;
    const to = last.kind === "skipped" ? last.to : last.seq;
    this.#skip(listed, end, [first.seq, to]);
    return [first.seq, to];
  }

  /** Leaves out an earlier process's range once an event behind it shows that all its entries are there. */
  #skipPending(seq: number): void {
    for (let next = this.#pending[0]; next && next[1] < seq; next = this.#pending[0]) {
      const [from, to] = next;
      this.#pending.shift();
      const begin = this.#entries.findIndex((entry) => entry.seq >= from);
      if (begin < 0) continue;
      const end = this.#entries.findLastIndex((entry) => entry.seq <= to) + 1;
      if (end > begin) this.#skip(begin, end, next);
    }
  }

  /** An ask that is answered and was never shown lets nobody decide anything. */
  #maySkip(entry: Entry): boolean {
    if (entry.kind !== "ask") return isPassing(entry);
    return entry.response !== undefined && entry.mayComeBack !== true && !this.#messages.has(entry);
  }

  #skip(begin: number, end: number, [from, to]: SkippedRange): void {
    const range = this.#entries.slice(begin, end);
    const left = new Set(range.filter((entry) => this.#maySkip(entry)));
    const [first] = left;
    if (!first) return;
    const messages = sumOf(left, messagesOf);
    const { since, reach } = first;
    const skipped: Skipped = { kind: "skipped", seq: from, to, since, reach, messages };
    const told = range.filter((entry) => !left.has(entry));
    for (const entry of left) if (entry.kind === "ask") this.#messages.leaveOut(entry);
    this.#entries.splice(begin, range.length, skipped, ...told);
    this.#waiting += weightOf(skipped) - sumOf(left, weightOf);
    if (this.carrier && left.has(this.carrier)) this.#newest.delete("carrier");
  }
}

function sumOf(entries: Iterable<Entry>, count: (entry: Entry) => number): number {
  let sum = 0;
  for (const entry of entries) sum += count(entry);
  return sum;
}

/** The number of messages by which an entry counts as waiting; an entry that is never left out counts 0. */
function weightOf(entry: Entry): number {
  if (!isPassing(entry)) return 0;
  return entry.kind === "skipped" ? 1 : messagesOf(entry);
}

/** Tells whether an entry may be left out once nobody has to decide by it or to act on it. */
function isPassing(entry: Entry): boolean {
  if (entry.kind !== "remark") return true;
  const { type } = entry.event;
  return type !== "failure" && type !== "file_sent" && type !== "control";
}
