/** How much a viewer has been sent and has not taken, and what follows from it. Pure but for the times it is given. */
import { MAX_UNREAD_BYTES, RESUME_UNREAD_BYTES } from "../../shared/attach.ts";

/** `waitingBytes` is always what the viewer's own socket still holds. */
export class Unread {
  readonly #hasAcks: boolean;
  #sentBytes = 0;
  #ackedBytes = 0;
  /** The least that has been unread since the pause, and when that was: less is progress. */
  #paused: { unreadBytes: number; at: number } | undefined;

  /** Without acknowledgements only the socket says what was taken. */
  constructor(hasAcks: boolean) {
    this.#hasAcks = hasAcks;
  }

  /** @returns whether nothing more may be sent for now; true once for each pause */
  sent(bytes: number, waitingBytes: number, now: number): boolean {
    this.#sentBytes += bytes;
    const unreadBytes = this.#count(waitingBytes);
    if (unreadBytes <= MAX_UNREAD_BYTES || this.#paused) return false;
    this.#paused = { unreadBytes, at: now };
    return true;
  }

  /** The viewer says how many bytes it has taken in all. It cannot take back a word, nor have taken what was not sent. */
  acknowledge(bytes: number): void {
    this.#ackedBytes = Math.min(this.#sentBytes, Math.max(this.#ackedBytes, bytes));
  }

  /** To be asked whenever the viewer may have taken something. @returns whether the pause is over; true once */
  isReadAgain(waitingBytes: number, now: number): boolean {
    if (!this.#paused) return false;
    const unreadBytes = this.#count(waitingBytes);
    if (unreadBytes <= RESUME_UNREAD_BYTES) {
      this.#paused = undefined;
      return true;
    }
    if (unreadBytes < this.#paused.unreadBytes) this.#paused = { unreadBytes, at: now };
    return false;
  }

  /** For how long it has been too much without any of it having been taken. */
  stalledMs(now: number): number {
    return this.#paused ? now - this.#paused.at : 0;
  }

  #count(waitingBytes: number): number {
    return this.#hasAcks ? Math.max(waitingBytes, this.#sentBytes - this.#ackedBytes) : waitingBytes;
  }
}
