/** Threads that go on by themselves at a moment that their transcripts name. One timer for all of them. */
import type { ThreadId } from "../../shared/ids.ts";

/** The machine's clock may be set, or the machine sleep: it is looked at so often while anybody waits. */
const MAX_WAIT_MS = 60_000;

export class WakeUps {
  readonly #onDue: () => void;
  readonly #now: () => number;
  readonly #atMs = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  /** @param onDue is called when the moment of any of them has come */
  constructor(onDue: () => void, now: () => number) {
    this.#onDue = onDue;
    this.#now = now;
  }

  /** @param at undefined: the thread waits for nothing. A moment that has passed is no news: its thread goes on. */
  set(threadId: ThreadId, at: string | undefined): void {
    const ms = at === undefined ? Number.NaN : Date.parse(at);
    if (ms > this.#now()) this.#atMs.set(threadId, ms);
    else this.#atMs.delete(threadId);
    this.#arm();
  }

  close(): void {
    this.#atMs.clear();
    this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#atMs.size === 0) return;
    const nextMs = Math.min(...this.#atMs.values()) - this.#now();
    this.#timer = setTimeout(() => this.#look(), Math.max(0, Math.min(nextMs, MAX_WAIT_MS))).unref();
  }

  #look(): void {
    const due = [...this.#atMs].filter(([, ms]) => ms <= this.#now());
    for (const [threadId] of due) this.#atMs.delete(threadId);
    this.#arm();
    if (due.length > 0) this.#onDue();
  }
}
