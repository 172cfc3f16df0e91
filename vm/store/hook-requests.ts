/** Requests at the hook's door: each of them known again for a while, its body kept until it is passed on. */
import * as z from "zod";
import type { Database } from "./database.ts";

/** `taken`: it is passed on. `filtered`: the hook wants none of its kind. */
export const HOOK_OUTCOMES = ["taken", "filtered"] as const;
export type HookOutcome = (typeof HOOK_OUTCOMES)[number];

export interface NewHookRequest {
  /** The hook's name. */
  hook: string;
  deliveryId: string;
  receivedAt: number;
  /** The same id means the same request until then. */
  knownUntil: number;
  groupKey: string;
  outcome: HookOutcome;
  /** The body of a request that is taken. */
  body: Buffer | null;
}

export interface WaitingRequest {
  deliveryId: string;
  receivedAt: number;
  groupKey: string;
  /** The size of its body. */
  bytes: number;
}

const waitingSchema = z
  .object({ delivery_id: z.string(), received_at: z.int(), group_key: z.string(), bytes: z.int() })
  .transform((row) => ({
    deliveryId: row.delivery_id,
    receivedAt: row.received_at,
    groupKey: row.group_key,
    bytes: row.bytes,
  }));
const outcomeSchema = z.object({ outcome: z.enum(HOOK_OUTCOMES) });
const bodySchema = z.object({ body: z.instanceof(Uint8Array) });
const hookSchema = z.object({ hook: z.string() });
const bytesSchema = z.object({ bytes: z.int() });

export class HookRequestTable {
  readonly #db: Database;
  readonly #insert;
  readonly #find;
  readonly #listWaiting;
  readonly #listHooks;
  readonly #body;
  readonly #passOn;
  readonly #waitingBytes;
  readonly #forget;
  readonly #remove;
  /** Counted once, and kept: each request that comes asks for it. Undefined if it is to be counted anew. */
  #bytes: number | undefined;

  constructor(db: Database) {
    this.#db = db;
    db.onRollback(() => {
      this.#bytes = undefined;
    });
    this.#insert = db.prepare(
      `INSERT OR REPLACE INTO hook_requests
         (hook, delivery_id, received_at, known_until, group_key, outcome, bytes, body)
       VALUES (@hook, @deliveryId, @receivedAt, @knownUntil, @groupKey, @outcome, @bytes, @body)`,
    );
    this.#find = db.prepare(
      `SELECT outcome FROM hook_requests
       WHERE hook = ? AND delivery_id = ? AND (known_until > ? OR body IS NOT NULL)`,
    );
    this.#listWaiting = db.prepare(
      `SELECT delivery_id, received_at, group_key, bytes FROM hook_requests
       WHERE hook = ? AND body IS NOT NULL ORDER BY received_at, rowid LIMIT ?`,
    );
    this.#listHooks = db.prepare("SELECT DISTINCT hook FROM hook_requests WHERE body IS NOT NULL");
    this.#body = db.prepare(
      "SELECT body FROM hook_requests WHERE hook = ? AND delivery_id = ? AND body IS NOT NULL",
    );
    this.#passOn = db.prepare(
      `UPDATE hook_requests SET body = NULL WHERE hook = ? AND delivery_id = ? AND body IS NOT NULL
       RETURNING bytes`,
    );
    this.#waitingBytes = db.prepare(
      "SELECT coalesce(sum(bytes), 0) AS bytes FROM hook_requests WHERE body IS NOT NULL",
    );
    this.#forget = db.prepare("DELETE FROM hook_requests WHERE known_until <= ? AND body IS NULL");
    this.#remove = db.prepare("DELETE FROM hook_requests WHERE hook = ?");
  }

  /**
   * Keeps requests so that a loss of power takes none of them. One that is known already stays as it is.
   * @returns of each, in order, how it came out when it was first sent
   * @throws Error if the disk does not take them; none of them is kept then
   */
  keep(requests: readonly NewHookRequest[]): HookOutcome[] {
    return this.#db.durably(() => this.add(requests));
  }

  /** As {@link keep}, in a transaction that is there already, and with no wait for the disk. */
  add(requests: readonly NewHookRequest[]): HookOutcome[] {
    return requests.map((request) => {
      const { hook, deliveryId, receivedAt } = request;
      const known = this.find(hook, deliveryId, receivedAt);
      if (known !== undefined) return known;
      const bytes = request.body?.length ?? 0;
      this.#insert.run({ ...request, bytes });
      if (this.#bytes !== undefined) this.#bytes += bytes;
      return request.outcome;
    });
  }

  find(hook: string, deliveryId: string, now: number): HookOutcome | undefined {
    const row = this.#find.get(hook, deliveryId, now);
    return row === undefined ? undefined : outcomeSchema.parse(row).outcome;
  }

  /** Lists a hook's requests that are not passed on, the oldest first. */
  listWaiting(hook: string, max: number): WaitingRequest[] {
    return this.#listWaiting.all(hook, max).map((row) => waitingSchema.parse(row));
  }

  /** The hooks of which requests wait. */
  listHooks(): string[] {
    return this.#listHooks.all().map((row) => hookSchema.parse(row).hook);
  }

  /** The body of one that waits. */
  findBody(hook: string, deliveryId: string): Buffer | undefined {
    const row = this.#body.get(hook, deliveryId);
    return row === undefined ? undefined : Buffer.from(bodySchema.parse(row).body);
  }

  passOn(hook: string, deliveryIds: readonly string[]): void {
    for (const deliveryId of deliveryIds) {
      const row = this.#passOn.get(hook, deliveryId);
      if (row !== undefined && this.#bytes !== undefined) this.#bytes -= bytesSchema.parse(row).bytes;
    }
  }

  /** The size of all bodies that wait. */
  waitingBytes(): number {
    this.#bytes ??= bytesSchema.parse(this.#waitingBytes.get()).bytes;
    return this.#bytes;
  }

  /** Those that were long enough known. */
  forget(now: number): void {
    this.#forget.run(now);
  }

  /** The hook is gone: one of its name that comes after it knows none of them. */
  remove(hook: string): void {
    this.#remove.run(hook);
    this.#bytes = undefined;
  }
}
