/**
 * An agent's turns, the whole state machine: each message is one run of the agent's program.
 *
 *   waiting ─ take ─→ starting ─ started ─→ running ─ end ─→ done
 *      ↑                  │
 *      └──── putBack ─────┘
 *
 * The thread is `running` while a turn is starting or running, and `idle` otherwise. Both are changed in one
 * transaction, so no crash leaves them apart. At most one turn of a thread is starting or running.
 */
import type { Store } from "../../store/store.ts";
import type { Turn } from "../../store/turns.ts";
import type { Ending } from "../ending.ts";
import type { RunningProgram } from "../programs.ts";

export class AgentTurns {
  readonly #store: Store;
  readonly #now: () => number;

  constructor({ store, now }: { store: Store; now: () => number }) {
    this.#store = store;
    this.#now = now;
  }

  /** A message waits; the `inputId` under which it came is noted as gone in with it. */
  add(threadId: string, text: string, inputId?: string): void {
    this.#store.transaction(() => {
      this.#store.turns.add(threadId, text, this.#now());
      if (inputId !== undefined) this.#store.inputs.set(threadId, inputId, "sent");
    });
  }

  countWaiting(threadId: string): number {
    return this.#store.turns.countWaiting(threadId);
  }

  /** The next message. */
  findWaiting(threadId: string): Turn | undefined {
    return this.#store.turns.find(threadId, "waiting");
  }

  /** The turn that is being started: only of this one is it unknown, after a crash or a hang, whether it runs. */
  findStarting(threadId: string): Turn | undefined {
    return this.#store.turns.find(threadId, "starting");
  }

  findRunning(threadId: string): Turn | undefined {
    return this.#store.turns.find(threadId, "running");
  }

  /** To be called before tmux is asked to start it. */
  take(threadId: string, { seq }: Turn): void {
    this.#store.transaction(() => {
      this.#store.turns.set(threadId, seq, "starting");
      this.#store.threads.update(threadId, {
        status: "running",
        endedAt: null,
        exitCode: null,
        signal: null,
      });
    });
  }

  /** The pane's process is known. */
  started(threadId: string, { seq }: Turn, running: Partial<RunningProgram> & { isMade?: true }): void {
    this.#store.transaction(() => {
      this.#store.threads.update(threadId, running);
      this.#store.turns.set(threadId, seq, "running");
    });
  }

  /** It did not start. */
  putBack(threadId: string, { seq }: Turn): void {
    this.#store.transaction(() => {
      this.#store.turns.set(threadId, seq, "waiting");
      this.#store.threads.update(threadId, { status: "idle" });
    });
  }

  /** The program has ended. */
  end(threadId: string, ending: Ending): void {
    const turn = this.findRunning(threadId);
    this.#store.transaction(() => {
      if (turn) this.#store.turns.set(threadId, turn.seq, "done", ending.exitCode);
      this.#store.threads.update(threadId, { status: "idle", ...ending });
    });
  }

  /** Whether the conversation exists: the program has run at least once. */
  hasConversation(threadId: string): boolean {
    return this.#store.turns.hasRun(threadId);
  }
}
