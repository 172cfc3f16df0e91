/** Does one step of a thread's delivery after the other until nothing is left to do, and tries again what fails. */
import { pause, withTimeout } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { turns } from "../content/turns.ts";
import type { Budget } from "../discord/budget.ts";
import { findRefusal, type Refusal } from "../discord/refusals.ts";

const MAX_BACKOFF_MS = 15_000;

export interface Step {
  /** Not before this time, in milliseconds since 1970. */
  readonly at: number;
  run(): Promise<void>;
}

/** `again`: something was found to be done already, and what comes behind it is looked at next. */
export type NextStep = Step | "again" | undefined;

export interface PumpOptions {
  /** Before each look at what is next. */
  prepare: () => Promise<void>;
  /** What is to be done next, as it is now. Undefined if all is done. */
  next: () => NextStep;
  /** All is done. @param hasStepped whether anything was done since the last time. */
  onIdle: (hasStepped: boolean) => void;
  /** Discord takes nothing: nothing more is tried before {@link Pump.wake}. */
  onRefused: (refusal: Refusal, error: unknown) => void;
  /** The Discord thread is archived. @returns whether it is not any more. */
  comeBack: () => Promise<boolean>;
  budget: Budget;
  /** Whose share of the budget it takes. */
  owner: () => string;
  threadId: string;
  log: Log;
  now: () => number;
}

/** At most one step is under way at a time. */
export class Pump {
  readonly #options: PumpOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #isDirty = false;
  #nap = new AbortController();

  constructor(options: PumpOptions) {
    this.#options = options;
  }

  /** There may be something to do. @param isUrgent looks at once, also if a step waits for its time. */
  wake(isUrgent = false): void {
    this.#isDirty = true;
    if (this.#stop.signal.aborted) return;
    if (isUrgent) this.#nap.abort();
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#isDirty) this.wake();
    });
  }

  /** Resolves when everything known so far is done, or after `deadlineMs`. */
  async flush(deadlineMs: number): Promise<void> {
    this.wake();
    await withTimeout(deadlineMs, [this.#stop.signal], async (signal) => {
      while (this.#running && !signal.aborted) await Promise.race([this.#running, pause(deadlineMs, signal)]);
    });
  }

  /** Lets the step that is under way end. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#nap.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { log, onIdle } = this.#options;
    const { signal } = this.#stop;
    let hasStepped = false;
    for (let backoffMs = 0; !signal.aborted; ) {
      this.#isDirty = false;
      try {
        const isAllDone = await this.#step();
        backoffMs = 0;
        if (!isAllDone) {
          hasStepped = true;
          continue;
        }
        onIdle(hasStepped);
        hasStepped = false;
        if (!this.#isDirty) return;
      } catch (error) {
        if (signal.aborted) return;
        if (await this.#isOver(error)) return;
        backoffMs = Math.min(Math.max(1_000, backoffMs * 2), MAX_BACKOFF_MS);
        log.warn({ err: error, backoffMs }, "could not deliver; trying again");
        await pause(backoffMs, signal);
      }
    }
  }

  /** @returns whether there was nothing to do. */
  async #step(): Promise<boolean> {
    const { prepare, next, budget, owner, threadId, now } = this.#options;
    await prepare();
    const step = next();
    if (!step) return true;
    if (step === "again") return turns.next().then(() => false);
    const waitMs = step.at - now();
    if (waitMs > 0) {
      this.#nap = new AbortController();
      await pause(waitMs, this.#nap.signal, this.#stop.signal);
      return false;
    }
    await budget.run(
      async () => {
        // Looked up again now that it is this thread's turn: only the newest state is ever sent.
        const step = next();
        if (step && step !== "again" && step.at <= now()) await step.run();
      },
      { owner: owner(), threadId, signal: this.#stop.signal },
    );
    return false;
  }

  async #isOver(error: unknown): Promise<boolean> {
    const refusal = findRefusal(error);
    if (refusal === undefined || refusal === "unknown message") return false;
    if (refusal === "archived" && (await this.#mayComeBack())) return false;
    this.#isDirty = false;
    this.#options.onRefused(refusal, error);
    return true;
  }

  /** True also if nobody knows, because Discord does not answer now: then the step is tried again. */
  async #mayComeBack(): Promise<boolean> {
    const { comeBack, log } = this.#options;
    try {
      return await comeBack();
    } catch (error) {
      if (findRefusal(error) !== undefined) return false;
      log.warn({ err: error }, "could not bring back an archived thread");
      return true;
    }
  }
}
