/** Who is signed in to the console: random secrets in memory, so a restart of the sidecar signs everybody out. */
import { createHash, randomBytes } from "node:crypto";

const LIFETIME_MS = 12 * 60 * 60_000;
/** More people than will ever use one sidecar; beyond it the oldest goes. */
const MAX_SESSIONS = 100;

export class Sessions {
  readonly #now: () => number;
  /** By the secret's hash: how long a look-up takes says nothing about any secret. Oldest first. */
  readonly #expiresAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  open(): { secret: string; expiresAt: number } {
    for (const [key, expiresAt] of this.#expiresAt) {
      if (expiresAt <= this.#now() || this.#expiresAt.size >= MAX_SESSIONS) this.#expiresAt.delete(key);
    }
    const secret = randomBytes(32).toString("base64url");
    const expiresAt = this.#now() + LIFETIME_MS;
    this.#expiresAt.set(keyOf(secret), expiresAt);
    return { secret, expiresAt };
  }

  isOpen(secret: string | undefined): boolean {
    return secret !== undefined && (this.#expiresAt.get(keyOf(secret)) ?? 0) > this.#now();
  }

  close(secret: string): void {
    this.#expiresAt.delete(keyOf(secret));
  }
}

function keyOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64");
}
