/** Agents' steps as they happen: turns, calls of the model, calls of tools, asks. Made again from the transcript. */
import * as z from "zod";
import type { StepChange } from "../../shared/agent/steps.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Database } from "./database.ts";

const rowSchema = z
  .object({
    kind: z.string(),
    step_id: z.string(),
    seq: z.int(),
    status: z.string(),
    title: z.string().nullable(),
    started_at: z.string().nullable(),
    ended_at: z.string().nullable(),
    duration_ms: z.number().nullable(),
    reason: z.string().nullable(),
    model: z.string().nullable(),
    tokens: z.int().nullable(),
  })
  .transform((row) => ({
    kind: row.kind,
    stepId: row.step_id,
    /** The event that began it. */
    seq: row.seq,
    status: row.status,
    title: row.title,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    durationMs: row.duration_ms,
    reason: row.reason,
    model: row.model,
    tokens: row.tokens,
  }));

export type StepRow = z.infer<typeof rowSchema>;

export interface StepsQuery {
  afterSeq: number;
  beforeSeq?: number | undefined;
  limit: number;
}

export class StepTable {
  readonly #set;
  readonly #list;
  readonly #listBefore;
  readonly #lastTurn;
  readonly #spent;
  readonly #removeSome;

  constructor(db: Database) {
    this.#set = db.prepare(
      `INSERT INTO steps (thread_id, kind, step_id, seq, status, title, started_at, ended_at, duration_ms, reason, model, tokens, usd)
       VALUES (@threadId, @kind, @stepId, @seq, @status, @title, @startedAt, @endedAt, @durationMs, @reason, @model, @tokens, @usd)
       ON CONFLICT DO UPDATE SET status = excluded.status, title = coalesce(excluded.title, title),
         started_at = coalesce(excluded.started_at, started_at), ended_at = excluded.ended_at,
         duration_ms = excluded.duration_ms, reason = excluded.reason, model = coalesce(excluded.model, model),
         tokens = excluded.tokens, usd = excluded.usd`,
    );
    this.#list = db.prepare(
      `SELECT kind, step_id, seq, status, title, started_at, ended_at, duration_ms, reason, model, tokens
       FROM steps WHERE thread_id = @threadId AND seq > @afterSeq ORDER BY seq LIMIT @limit`,
    );
    this.#listBefore = db.prepare(
      `SELECT kind, step_id, seq, status, title, started_at, ended_at, duration_ms, reason, model, tokens
       FROM steps WHERE thread_id = @threadId AND seq > @afterSeq AND seq < @beforeSeq ORDER BY seq DESC LIMIT @limit`,
    );
    this.#lastTurn = db.prepare(
      `SELECT kind, step_id, seq, status, title, started_at, ended_at, duration_ms, reason, model, tokens
       FROM steps WHERE thread_id = ? AND kind = 'turn' ORDER BY seq DESC LIMIT 1`,
    );
    this.#spent = db.prepare(
      "SELECT coalesce(sum(usd), 0) AS usd FROM steps WHERE thread_id = ? AND kind = 'turn' AND ended_at >= ?",
    );
    this.#removeSome = db.prepare(
      "DELETE FROM steps WHERE rowid IN (SELECT rowid FROM steps WHERE thread_id = ? LIMIT 1000)",
    );
  }

  /**
   * Begins a step or changes it.
   * @param seq of the event that says so
   * @param usd what a turn that ends has cost, in dollars
   */
  set(threadId: ThreadId, seq: number, change: StepChange, usd?: number): void {
    const { usage } = change;
    this.#set.run({
      threadId,
      seq,
      kind: change.kind,
      stepId: change.stepId,
      status: change.status,
      title: change.title ?? null,
      startedAt: change.startedAt ?? null,
      endedAt: change.endedAt ?? null,
      durationMs: change.durationMs ?? null,
      reason: change.reason ?? null,
      model: change.model ?? null,
      tokens: usage ? usage.inputTokens + usage.outputTokens : null,
      usd: usd ?? null,
    });
  }

  /** Before they are made again; not all at once, since there may be many. @returns whether there were any */
  removeSome(threadId: ThreadId): boolean {
    return this.#removeSome.run(threadId).changes > 0;
  }

  /** Sums up what the turns have cost, in dollars, that ended since then. @param since ISO 8601 in UTC */
  spentSince(threadId: ThreadId, since: string): number {
    return z.object({ usd: z.number() }).parse(this.#spent.get(threadId, since)).usd;
  }

  findLastTurn(threadId: ThreadId): StepRow | undefined {
    const row = this.#lastTurn.get(threadId);
    return row === undefined ? undefined : rowSchema.parse(row);
  }

  /** In the order in which they began: the first `limit`, or, with `beforeSeq`, the last of those before it. */
  list(threadId: ThreadId, { afterSeq, beforeSeq, limit }: StepsQuery): StepRow[] {
    const rows =
      beforeSeq === undefined
        ? this.#list.all({ threadId, afterSeq, limit })
        : this.#listBefore.all({ threadId, afterSeq, beforeSeq, limit }).reverse();
    return rows.map((row) => rowSchema.parse(row));
  }
}
