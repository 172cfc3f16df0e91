/** An agent's messages, each of which is one run of its program. */
import * as z from "zod";
import type { Database } from "./database.ts";

/**
 * `starting` while tmux is being asked: only then is it unknown, after a crash or a hang, whether it ran. A turn
 * is `running` once its pane's process is known.
 */
export type TurnState = "waiting" | "starting" | "running" | "done";

export interface Turn {
  /** From 1, without holes. */
  seq: number;
  text: string;
}

const turnSchema = z.object({ seq: z.int(), text: z.string() });
const countSchema = z.object({ n: z.int() });

const INSERT = `
  INSERT INTO turns (thread_id, seq, text, state, created_at)
  VALUES (@threadId, (SELECT coalesce(max(seq), 0) + 1 FROM turns WHERE thread_id = @threadId), @text, 'waiting', @now)`;

/** 126 and 127: the program could not be run. */
const FIND_RUN = `
  SELECT 1 FROM turns
  WHERE thread_id = ? AND state = 'done' AND coalesce(exit_code, 0) NOT IN (126, 127) LIMIT 1`;

export class TurnTable {
  readonly #insert;
  readonly #find;
  readonly #update;
  readonly #countWaiting;
  readonly #findRun;

  constructor(db: Database) {
    this.#insert = db.prepare(INSERT);
    this.#find = db.prepare(
      "SELECT seq, text FROM turns WHERE thread_id = ? AND state = ? ORDER BY seq LIMIT 1",
    );
    this.#update = db.prepare("UPDATE turns SET state = ?, exit_code = ? WHERE thread_id = ? AND seq = ?");
    this.#countWaiting = db.prepare(
      "SELECT count(*) AS n FROM turns WHERE thread_id = ? AND state = 'waiting'",
    );
    this.#findRun = db.prepare(FIND_RUN);
  }

  /** A new turn, which waits. */
  add(threadId: string, text: string, now: number): void {
    this.#insert.run({ threadId, text, now });
  }

  /** The oldest turn in that state. */
  find(threadId: string, state: TurnState): Turn | undefined {
    const row = this.#find.get(threadId, state);
    return row === undefined ? undefined : turnSchema.parse(row);
  }

  set(threadId: string, seq: number, state: TurnState, exitCode: number | null = null): void {
    this.#update.run(state, exitCode, threadId, seq);
  }

  countWaiting(threadId: string): number {
    return countSchema.parse(this.#countWaiting.get(threadId)).n;
  }

  /** Whether the agent's program has run at all: only then is there a conversation to resume. */
  hasRun(threadId: string): boolean {
    return this.#findRun.get(threadId) !== undefined;
  }
}
