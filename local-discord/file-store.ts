/** The bytes of attachments: in memory, or in a folder beside the state file when there is one. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Snowflake } from "./types.ts";

export class FileStore {
  readonly #folder: string | undefined;
  readonly #memory = new Map<Snowflake, Uint8Array>();

  constructor(folder?: string) {
    this.#folder = folder;
    if (folder !== undefined) mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  put(id: Snowflake, data: Uint8Array): void {
    if (this.#folder === undefined) this.#memory.set(id, data);
    else writeFileSync(join(this.#folder, id), data, { mode: 0o600 });
  }

  find(id: Snowflake): Uint8Array | undefined {
    if (this.#folder === undefined) return this.#memory.get(id);
    try {
      return readFileSync(join(this.#folder, id));
    } catch {
      return undefined; // gone with the folder: the link is dead, as an expired one would be
    }
  }

  remove(id: Snowflake): void {
    if (this.#folder === undefined) this.#memory.delete(id);
    else rmSync(join(this.#folder, id), { force: true });
  }
}
