/**
 * The locks of a thread's calls: taken before a call may write a file, given back when it has ended. Called once a
 * round of the runner's loop, it looks and never waits. What it needs to know after a restart is in the transcript
 * (since when a call waits) and in the folder of locks (what a call holds).
 */
import type { ThreadConfig } from "../../shared/agent/config.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { LOCK_FOLDER } from "../../shared/agent/markers.ts";
import { engineInputPath } from "../../shared/agent/paths.ts";
import { shownPath } from "../../shared/agent/shown-path.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import { endOfStep } from "../core/closing.ts";
import type { Running } from "../core/decide.ts";
import { type LockWant, lockStepId, lockWants, mayHold } from "../core/lock-wants.ts";
import type { Env } from "../engine.ts";
import { type LiveHolder, thisProcess } from "./alive.ts";
import { type Claim, LockFolder } from "./lock-folder.ts";
import { lockPathOf } from "./lock-path.ts";

export interface LockKeeperOptions {
  folder: string;
  config: ThreadConfig;
  env: Env;
}

/** The thread's transcript. */
interface Log {
  readonly fold: ThreadFold;
  append(source: null, bodies: readonly EventBody[]): void;
}

/** The engine at work; what waits for a lock is added to `held`, what is refused one to `refused`. */
interface Seat extends Running {
  readonly held: Set<string>;
  readonly refused: Map<string, string>;
}

/** Locks that come free are noticed after so long. */
export const LOOK_INTERVAL_MS = 50;

export class LockKeeper {
  readonly #options: LockKeeperOptions;
  readonly #log: Log;
  /** Undefined: nobody asks for locks. */
  readonly #locks: LockFolder | undefined;
  readonly #self: LiveHolder;
  /** The claims of calls that hold a file or wait for one, by the call's id. */
  readonly #claims = new Map<string, Claim>();
  /** Calls with a claim that no event has told of. */
  readonly #unseen = new Set<string>();
  readonly #waiting = new Set<string>();

  constructor(options: LockKeeperOptions, log: Log) {
    this.#options = options;
    this.#log = log;
    const { [LOCK_FOLDER]: folder } = options.env;
    this.#locks = folder ? new LockFolder(folder) : undefined;
    this.#self = thisProcess();
    for (const claim of this.#locks?.sweep(options.config.threadId) ?? []) {
      this.#claims.set(claim.callId, claim);
    }
  }

  /** How many calls wait. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** The paths that the thread's calls have taken. */
  get heldPaths(): string[] {
    const held = [...this.#claims.values()].filter(({ callId }) => !this.#waiting.has(callId));
    return held.map(({ path }) => path);
  }

  /** Gives back what is over, and takes what is to be taken. */
  look(seat: Seat | undefined, nowMs: number): void {
    if (!this.#locks) return;
    const wants = seat ? lockWants(this.#log.fold, seat) : [];
    const wanted = new Set(wants.map(({ request }) => request.toolCallId));
    for (const callId of [...this.#claims.keys()]) {
      if (wanted.has(callId)) continue;
      const isOver = !seat || this.#waiting.has(callId) || !this.#mayHold(callId, seat);
      if (isOver) this.release(callId);
    }
    this.#endSteps(wanted, nowMs);
    if (seat) for (const want of wants) this.#settle(want, seat, nowMs);
  }

  release(callId: string): void {
    const claim = this.#claims.get(callId);
    if (claim) this.#locks?.release(claim);
    this.#claims.delete(callId);
    this.#unseen.delete(callId);
    this.#waiting.delete(callId);
  }

  /** The runner ends, and no engine is left. */
  close(): void {
    for (const callId of [...this.#claims.keys()]) this.release(callId);
  }

  #mayHold(callId: string, seat: Seat): boolean {
    return mayHold(callId, this.#log.fold, seat, this.#unseen.has(callId));
  }

  #settle({ request, path }: LockWant, seat: Seat, nowMs: number): void {
    const { requestId, toolCallId } = request;
    const { fold } = this.#log;
    if (fold.lockedOut?.includes(toolCallId)) {
      seat.refused.set(requestId, `${this.#nameOf(path)} was being edited by another thread for too long.`);
      return;
    }
    const step = fold.steps.find(({ stepId }) => stepId === lockStepId(toolCallId));
    const sinceMs = step ? Date.parse(step.startedAt) : nowMs;
    const claim = this.#claimOf(toolCallId, path, sinceMs, seat);
    const before = this.#locks?.take(claim, this.#self, nowMs);
    this.#claims.set(toolCallId, claim);
    if (!before) {
      this.#waiting.delete(toolCallId);
      if (!fold.toolCalls.some((call) => call.toolCallId === toolCallId)) this.#unseen.add(toolCallId);
      if (step) this.#endStep(step, "completed", nowMs);
      return;
    }
    this.#waiting.add(toolCallId);
    const { lockSeconds } = this.#options.config.timeouts;
    if (nowMs - sinceMs < lockSeconds * 1_000) {
      seat.held.add(requestId);
      if (!step) this.#beginStep(toolCallId, before);
      return;
    }
    if (step) this.#endStep(step, "failed", nowMs);
    this.release(toolCallId);
    seat.refused.set(requestId, this.#refusal(before, nowMs));
  }

  #claimOf(callId: string, path: string, sinceMs: number, { launch }: Seat): Claim {
    const { folder, config, env } = this.#options;
    return {
      v: 1,
      path: lockPathOf(path, config.dir, env["HOME"] ?? "/"),
      threadId: config.threadId,
      ...(config.number !== undefined && { number: config.number }),
      callId,
      sinceMs,
      holder: { fifo: engineInputPath(folder, launch.generation) },
    };
  }

  #beginStep(toolCallId: string, before: Claim): void {
    const title = `Awaiting file lock on ${this.#nameOf(before.path)} (${this.#ownerOf(before)})`;
    this.#log.append(null, [{ type: "step_start", stepId: lockStepId(toolCallId), kind: "lock", title }]);
  }

  #endStep(
    step: ThreadFold["steps"][number],
    status: "completed" | "failed" | "cancelled",
    nowMs: number,
  ): void {
    this.#log.append(null, [endOfStep(step, status, nowMs)]);
  }

  /** Nobody waits any more: the call was withdrawn. */
  #endSteps(wanted: ReadonlySet<string>, nowMs: number): void {
    for (const step of this.#log.fold.steps) {
      const isOver =
        step.kind === "lock" && ![...wanted].some((callId) => step.stepId === lockStepId(callId));
      if (isOver) this.#endStep(step, "cancelled", nowMs);
    }
  }

  #refusal(before: Claim, nowMs: number): string {
    const { lockSeconds } = this.#options.config.timeouts;
    const seconds = Math.max(0, Math.round((nowMs - before.sinceMs) / 1_000));
    const since = new Date(before.sinceMs).toISOString().slice(11, 19);
    const who = `${this.#nameOf(before.path)} is being edited by ${this.#ownerOf(before)}`;
    return `${who} since ${since} UTC (${seconds} s). Gave up after ${lockSeconds} s, nothing was written. Work on something else first, or try again.`;
  }

  #ownerOf({ threadId, number }: Claim): string {
    if (threadId === this.#options.config.threadId) return "another call of this thread";
    return number === undefined ? `thread ${cleanLine(threadId)}` : `#${number}`;
  }

  #nameOf(path: string): string {
    return shownPath(path, this.#options.config.dir);
  }
}
