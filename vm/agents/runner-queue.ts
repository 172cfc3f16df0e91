/**
 * Which threads' runners may be started now. A thread that waits for a free place needs none before it is near the
 * front of the queue: it is asleep until then. Many that are started at once only slow each other down. Which thread
 * has a place is for the runners to settle among themselves, so that it holds while the sidecar is down: here only
 * processes are spared.
 */
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { orderOf, type Waiter, waitTitle } from "../../shared/agent/place-order.ts";
import { isQueued } from "../../shared/agent/waits.ts";
import type { ThreadId } from "../../shared/ids.ts";

/** The wait of a thread without a runner for a place. */
export interface Wait {
  person: string;
  sinceMs: number;
}

/** A thread that has a runner. */
export interface Awake {
  threadId: ThreadId;
  fold: ThreadFold;
  person: string;
}

interface Held {
  /** Undefined: it waits only for others to have been started. */
  wait: Wait | undefined;
  heldMs: number;
  /** How many come before it, in words. */
  title?: string;
  /** Since it is so many. */
  sinceMs?: number;
}

export interface RunnerQueueOptions {
  /** How many of those that wait for a place keep their runner. */
  ready: number;
  findAwake: () => readonly Awake[];
  /** The thread's runner may be started now. */
  onFree: (threadId: ThreadId) => void;
  /** Another number of threads comes before it. */
  onMoved: (threadId: ThreadId) => void;
  now: () => number;
}

/** How many runners start at once. */
const MAX_STARTING = 4;
/** A runner that has written nothing for so long has come up with nothing to write, or will not come up. */
const START_MS = 5_000;
/** Who has just gone to sleep is not woken at once, whatever the reason. */
const MIN_SLEEP_MS = 500;
const LOOK_MS = 100;
const FALLBACK_MS = 1_000;

export class RunnerQueue {
  readonly #options: RunnerQueueOptions;
  readonly #held = new Map<ThreadId, Held>();
  /** Those that may start, and those that were started and have written nothing yet: since when. */
  readonly #starting = new Map<ThreadId, number>();
  #timer: NodeJS.Timeout | undefined;
  #dueMs = 0;
  #isClosed = false;

  constructor(options: RunnerQueueOptions) {
    this.#options = options;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  get isCrowded(): boolean {
    this.#dropOldStarts();
    return this.#starting.size >= MAX_STARTING;
  }

  /**
   * If not now, the thread is held, and `onFree` says when.
   * @param wait what it waits for, if it is a place and nothing else
   */
  mayStart(threadId: ThreadId, wait: Wait | undefined): boolean {
    if (this.#starting.has(threadId)) return true;
    const held = this.#held.get(threadId);
    if (wait === undefined && !this.isCrowded) {
      this.#held.delete(threadId);
      return true;
    }
    if (!held || (held.wait === undefined) !== (wait === undefined)) {
      this.#held.set(threadId, { wait, heldMs: this.#options.now() });
    }
    this.#plan(LOOK_MS);
    return false;
  }

  noteStart(threadId: ThreadId): void {
    this.#held.delete(threadId);
    this.#starting.set(threadId, this.#options.now());
  }

  /** The thread's runner has written something, or ended. */
  note(threadId: ThreadId): void {
    this.#starting.delete(threadId);
    if (this.#held.size > 0) this.#plan(LOOK_MS);
  }

  forget(threadId: ThreadId): void {
    this.#held.delete(threadId);
    this.note(threadId);
  }

  find(threadId: ThreadId): Readonly<Held> | undefined {
    return this.#held.get(threadId);
  }

  #plan(ms: number): void {
    const dueMs = performance.now() + ms;
    if (this.#isClosed || (this.#timer && this.#dueMs <= dueMs)) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#look();
      if (this.#held.size > 0) this.#plan(FALLBACK_MS);
    }, ms).unref();
  }

  #look(): void {
    const { ready, findAwake, onFree, now } = this.#options;
    this.#dropOldStarts();
    const awake = findAwake();
    const waiting = awake.filter(({ threadId, fold }) => isQueued(fold) && !this.#starting.has(threadId));
    const front = waiting.length + this.#starting.size;
    const order = this.#order(awake);
    const nowMs = now();
    const canWake = ({ id }: Waiter<ThreadId>) =>
      nowMs - (this.#held.get(id)?.heldMs ?? nowMs) >= MIN_SLEEP_MS;
    const woken = order.filter(canWake).slice(0, Math.max(0, ready - front));
    const late = [...this.#held].flatMap(([id, { wait }]) => (wait ? [] : [id]));
    const room = Math.max(0, MAX_STARTING - this.#starting.size);
    const free = [...late, ...woken.map(({ id }) => id)].slice(0, room);
    for (const threadId of free) {
      this.#held.delete(threadId);
      this.#starting.set(threadId, nowMs);
      onFree(threadId);
    }
    this.#tell(
      order.filter(({ id }) => this.#held.has(id)),
      front + free.length,
    );
  }

  /** Those that wait for a place, the next first. */
  #order(awake: readonly Awake[]): Waiter<ThreadId>[] {
    const waiters = [...this.#held].flatMap(([id, { wait }]): Waiter<ThreadId>[] =>
      wait ? [{ id, isBack: false, ...wait }] : [],
    );
    return orderOf(
      waiters,
      awake.map(({ person }) => person),
    );
  }

  #tell(order: readonly Waiter<ThreadId>[], front: number): void {
    for (const [at, { id }] of order.entries()) {
      const held = this.#held.get(id);
      const title = waitTitle(front + at);
      if (!held || held.title === title) continue;
      Object.assign(held, { title, sinceMs: this.#options.now() });
      this.#options.onMoved(id);
    }
  }

  #dropOldStarts(): void {
    const oldMs = this.#options.now() - START_MS;
    for (const [threadId, ms] of this.#starting) if (ms <= oldMs) this.#starting.delete(threadId);
  }
}
