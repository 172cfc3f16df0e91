/**
 * Who is signed in to the console: random secrets, of which the disk has hashes alone. A restart of the sidecar signs
 * nobody out; another token signs everybody out.
 */
import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import * as z from "zod";
import { writeWhole } from "../../shared/whole-file.ts";

const LIFETIME_MS = 12 * 60 * 60_000;
/** More people than will ever use one sidecar; beyond it the oldest goes. */
const MAX_SESSIONS = 100;

const fileSchema = z.array(z.tuple([z.string(), z.number()])).max(MAX_SESSIONS);

export interface SessionsOptions {
  /** Keeps them over restarts. */
  file: string;
  /** The sidecar's: a secret is worth nothing with another one. */
  token: string;
  now: () => number;
  /** They could not be written: whoever is signed in is so until the sidecar ends. */
  onTrouble: (error: unknown) => void;
}

export class Sessions {
  readonly #options: SessionsOptions;
  /** By the secret's hash: how long a look-up takes says nothing about any secret. Oldest first. */
  readonly #expiresAt: Map<string, number>;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#expiresAt = new Map(readSessions(options.file));
  }

  open(): { secret: string; expiresAt: number } {
    const now = this.#options.now();
    for (const [key, expiresAt] of this.#expiresAt) {
      if (expiresAt <= now || this.#expiresAt.size >= MAX_SESSIONS) this.#expiresAt.delete(key);
    }
    const secret = randomBytes(32).toString("base64url");
    const expiresAt = now + LIFETIME_MS;
    this.#expiresAt.set(this.#keyOf(secret), expiresAt);
    this.#keep();
    return { secret, expiresAt };
  }

  isOpen(secret: string | undefined): boolean {
    const expiresAt = secret === undefined ? undefined : this.#expiresAt.get(this.#keyOf(secret));
    return (expiresAt ?? 0) > this.#options.now();
  }

  close(secret: string): void {
    if (this.#expiresAt.delete(this.#keyOf(secret))) this.#keep();
  }

  #keep(): void {
    const { file, onTrouble } = this.#options;
    try {
      writeWhole(file, JSON.stringify([...this.#expiresAt]));
    } catch (error) {
      onTrouble(error);
    }
  }

  #keyOf(secret: string): string {
    return createHmac("sha256", this.#options.token).update(secret).digest("base64");
  }
}

/** None if there is no such file, or something else in it: then people sign in again. */
function readSessions(file: string): [string, number][] {
  try {
    return fileSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return [];
  }
}
