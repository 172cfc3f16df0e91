import { setMaxListeners } from "node:events";

/** Cleanups of everything that was started, run once, last started first. */
export class Releasers {
  readonly #stack: { name: string; release: () => void | Promise<void> }[] = [];
  #closing: Promise<void> | undefined;

  /** Registers what ends `name`. Returns nothing: the order of the calls is the reverse order of the ends. */
  add(name: string, release: () => void | Promise<void>): void {
    this.#stack.push({ name, release });
  }

  /**
   * Runs every cleanup, also after one failed or took longer than `deadlineMs`; a second call gets the first
   * one's promise.
   * @throws AggregateError naming each cleanup that failed or ran out of time.
   */
  close(deadlineMs = 5_000): Promise<void> {
    this.#closing ??= this.#run(deadlineMs);
    return this.#closing;
  }

  async #run(deadlineMs: number): Promise<void> {
    const failures: Error[] = [];
    for (let entry = this.#stack.pop(); entry; entry = this.#stack.pop()) {
      const { name, release } = entry;
      try {
        await withDeadline(Promise.resolve(release()), deadlineMs, `closing ${name}`);
      } catch (cause) {
        failures.push(new Error(`could not close ${name}`, { cause }));
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map((f) => f.message).join("; "));
  }
}

/** In so many parts a deadline passes. */
const PARTS = 20;

/**
 * `promise`, or a rejection after `ms` milliseconds that says what took too long. The work itself is not
 * stopped: give it a signal where it can be. However long this process stands still meanwhile (its machine sleeps, or is
 * held up), that counts as one part of the time: the work could do nothing then.
 */
export function withDeadline<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    let left = PARTS;
    const timer = setInterval(() => {
      left -= 1;
      if (left > 0) return;
      clearInterval(timer);
      reject(new Error(`${what} took more than ${ms} ms`));
    }, ms / PARTS);
    promise.then(resolve, reject).finally(() => clearInterval(timer));
  });
}

/**
 * Runs `work` with a signal that fires after `ms`, or when one of `parents` does. By hand: Node 20 takes an
 * `AbortSignal.timeout` that only an `AbortSignal.any` knows for garbage, and then it never fires.
 */
export async function withTimeout<T>(
  ms: number,
  parents: readonly (AbortSignal | undefined)[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`took more than ${ms} ms`)), ms);
  const abort = () => controller.abort();
  for (const parent of parents) {
    if (!parent) continue;
    if (parent.aborted) abort();
    onAbort(parent, abort);
  }
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    for (const parent of parents) parent?.removeEventListener("abort", abort);
  }
}

/**
 * Calls `listener` once when the signal fires. For waits, of which any number may be under way on one signal: whoever
 * waits takes the listener away when the wait is over, so Node.js need not take the eleventh for a leak.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): void {
  if (!signal) return;
  setMaxListeners(0, signal);
  signal.addEventListener("abort", listener, { once: true });
}

/** Resolves after `ms`, or at once when one of `signals` fires. Never rejects: look at them afterwards. */
export function pause(ms: number, ...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve) => {
    if (signals.some((signal) => signal?.aborted)) return resolve();
    const done = () => {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    for (const signal of signals) onAbort(signal, done);
  });
}

/** Runs at most so many tasks at once; the others wait, in order. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** What `task` gives; undefined, and `task` is not started, if `signal` fires before its turn. */
  run<T>(task: () => Promise<T>): Promise<T>;
  run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T | undefined>;
  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T | undefined> {
    if (!(await this.#take(signal))) return undefined;
    try {
      return await task();
    } finally {
      this.#give();
    }
  }

  async #take(signal: AbortSignal | undefined): Promise<boolean> {
    if (signal?.aborted) return false;
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    return new Promise((resolve) => {
      const leave = () => {
        this.#waiting.delete(start);
        resolve(false);
      };
      const start = () => {
        signal?.removeEventListener("abort", leave);
        resolve(true);
      };
      this.#waiting.add(start);
      onAbort(signal, leave);
    });
  }

  /** A slot goes straight to who waits for it: nobody who comes later can take it. */
  #give(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

/**
 * A function that runs `work` again and again, never twice at once: calls during a run are one further run together.
 * Each call resolves or rejects as the first run does that begins after it.
 */
export function coalesced(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const start = () => {
    const run = work();
    const end = () => {
      if (running === run) running = undefined;
    };
    running = run;
    run.then(end, end);
    return run;
  };
  return () => {
    if (next) return next;
    if (!running) return start();
    const startNext = () => {
      next = undefined;
      return start();
    };
    next = running.then(startNext, startNext);
    return next;
  };
}

/** Runs the tasks of one key strictly one after the other; different keys run side by side. */
export class KeyedQueue {
  readonly #tails = new Map<string, Promise<unknown>>();

  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const result = before.then(task, task);
    const tail = result.then(
      () => undefined,
      () => undefined, // the caller has the rejection; the queue only needs the end
    );
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    return result;
  }

  /** Resolves when nothing is queued or running any more. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }
}
