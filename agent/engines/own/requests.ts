/** Questions to the runner that wait for an answer: may a call run, has a round of calls an end. */
import { randomUUID } from "node:crypto";
import type { Request, Verdict } from "./protocol.ts";

export class Requests {
  readonly #prefix: string;
  readonly #open = new Map<string, (verdict: Verdict | undefined) => void>();
  /** Answers of requests that nobody waits for yet. */
  readonly #early = new Map<string, Verdict>();

  /** @param prefix of the ids, no other process's */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Makes an id that nobody can guess, so that no answer can be written before the request. */
  newId(): string {
    return `${this.#prefix}-${randomUUID()}`;
  }

  /** @returns undefined if the person stops the turn before there is an answer */
  wait({ requestId }: Pick<Request, "requestId">, signal: AbortSignal): Promise<Verdict | undefined> {
    const early = this.#early.get(requestId);
    this.#early.delete(requestId);
    if (early) return Promise.resolve(early);
    if (signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const settle = (verdict: Verdict | undefined) => {
        signal.removeEventListener("abort", stop);
        this.#open.delete(requestId);
        resolve(verdict);
      };
      const stop = () => settle(undefined);
      this.#open.set(requestId, settle);
      signal.addEventListener("abort", stop, { once: true });
    });
  }

  answer(verdict: Verdict): void {
    const resolve = this.#open.get(verdict.requestId);
    if (resolve) resolve(verdict);
    else this.#early.set(verdict.requestId, verdict);
  }
}
