/** Who is signed in to the console: random ids in memory, so a restart of the sidecar signs everybody out. */
import { createHash, randomBytes } from "node:crypto";

const LIFETIME_MS = 12 * 60 * 60_000;
/** More people than will ever use one sidecar; beyond it the oldest goes. */
const MAX_SESSIONS = 100;

export class Sessions {
  readonly #now: () => number;
  /** By the id's hash: how long a look-up takes says nothing about any id. Oldest first. */
  readonly #expiresAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  open(): { id: string; expiresAt: number; lifetimeMs: number } {
    for (const [key, expiresAt] of this.#expiresAt) {
      if (expiresAt <= this.#now() || this.#expiresAt.size >= MAX_SESSIONS) this.#expiresAt.delete(key);
    }
    const id = randomBytes(32).toString("base64url");
    const expiresAt = this.#now() + LIFETIME_MS;
    this.#expiresAt.set(keyOf(id), expiresAt);
    return { id, expiresAt, lifetimeMs: LIFETIME_MS };
  }

  isOpen(id: string | undefined): boolean {
    return id !== undefined && (this.#expiresAt.get(keyOf(id)) ?? 0) > this.#now();
  }

  close(id: string): void {
    this.#expiresAt.delete(keyOf(id));
  }
}

function keyOf(id: string): string {
  return createHash("sha256").update(id).digest("base64");
}
