/** The hosts that the proxy has refused since somebody did something last, and what a page's reader is told of them. */
import { placeOf } from "../shared/browser/address.ts";
import type { HostError } from "../shared/browser/resolve.ts";

const KEPT = 50;

export class Refusals {
  /** By `host:port`. */
  readonly #refused = new Map<string, HostError>();

  /** @param place `host:port` */
  note(place: string, error: HostError): void {
    this.#refused.set(place, error);
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > KEPT && oldest !== undefined) this.#refused.delete(oldest);
  }

  clear(): void {
    this.#refused.clear();
  }

  /**
   * Takes the refusals of hosts that a page has asked for. Chromium asks for hosts by itself, and tells of a page's
   * request later than the proxy does.
   * @returns a sentence on the first one
   */
  take(page: { hasAsked(place: string): boolean }): string | undefined {
    let told: string | undefined;
    for (const [place, { isClosed, message }] of this.#refused) {
      if (!isClosed || !page.hasAsked(place)) continue;
      this.#refused.delete(place);
      told ??= `Refused: ${message}.`;
    }
    return told;
  }

  /** Why the page itself did not come, in the proxy's words; undefined if it did. @param addresses that it may be at */
  findReason(addresses: readonly string[]): string | undefined {
    for (const address of addresses) {
      if (!address.startsWith("http")) continue;
      const message = this.#refused.get(placeOf(new URL(address)))?.message;
      if (message !== undefined) return `The page did not come: ${message}.`;
    }
    return undefined;
  }
}
