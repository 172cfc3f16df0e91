/** The handles of people and channels in addresses: given once for an id, and never to another. */
import * as z from "zod";
import { trimEndOf } from "../../shared/trim-end.ts";
import type { Database } from "./database.ts";

export type HandleKind = "person" | "channel";

const MAX_CHARACTERS = 32;
const rowSchema = z.object({ handle: z.string() });
const idSchema = z.object({ id: z.string() });

export class HandleTable {
  readonly #db: Database;
  readonly #find;
  readonly #findId;
  readonly #insert;

  constructor(db: Database) {
    this.#db = db;
    this.#find = db.prepare("SELECT handle FROM handles WHERE kind = ? AND id = ?");
    this.#findId = db.prepare("SELECT id FROM handles WHERE kind = ? AND handle = ?");
    this.#insert = db.prepare("INSERT INTO handles (kind, handle, id) VALUES (?, ?, ?)");
  }

  /** @returns the id that a handle was given to; undefined if it was given to none */
  findId(kind: HandleKind, handle: string): string | undefined {
    const row = this.#findId.get(kind, handle);
    return row === undefined ? undefined : idSchema.parse(row).id;
  }

  /**
   * The handle of an id: the one that it has, or a new one.
   * @param name what Discord calls it; a later name changes nothing
   */
  take(kind: HandleKind, id: string, name: string | null | undefined): string {
    const row = this.#find.get(kind, id);
    if (row !== undefined) return rowSchema.parse(row).handle;
    const stem = handleStem(name ?? "") || kind;
    return this.#db.transaction(() => {
      for (let number = 1; ; number++) {
        const handle = number === 1 ? stem : `${stem}-${number}`;
        if (this.findId(kind, handle) !== undefined) continue;
        this.#insert.run(kind, handle, id);
        return handle;
      }
    });
  }
}

/** `[a-z0-9-]`: an address holds no character that could end it. Empty if nothing of the name is left. */
export function handleStem(name: string): string {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const stem = plain.replace(/[^a-z0-9]+/g, "-").slice(0, MAX_CHARACTERS);
  return trimEndOf(stem.replace(/^-+/, ""), "-");
}
