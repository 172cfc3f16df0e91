/** The entries that are still told, in order. Forgetting one takes no look at those behind it. */
import type { Activity, Entry } from "./entries.ts";
import { mayCarry } from "./render.ts";

export type NewEntry = Entry extends infer E ? (E extends Entry ? Omit<E, "since" | "reach"> : never) : never;

export class EntryList {
  readonly #entries: Entry[] = [];
  /** The newest entry, also when it is forgotten, and the newest that is worth the thread's buttons. */
  readonly #newest = new Map<"of all" | "carrier", Entry>();

  get all(): readonly Entry[] {
    return this.#entries;
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
    // A turn may begin with what was said before entries that are no part of it.
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const before = this.#entries[i] as Entry;
      if (before.reach <= since) break;
      before.reach = since;
    }
    this.#entries.push(pushed);
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
    const first = this.#entries.slice(0, count);
    this.#entries.splice(0, count, ...first.filter((entry) => !entries.has(entry)));
    if (this.carrier && entries.has(this.carrier)) this.#newest.delete("carrier");
  }
}
