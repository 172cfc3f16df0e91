/**
 * Which people's messages the model has taken just now: one for each delivery, its newest. Pure but for its own
 * state.
 */
import type { ThreadEvent } from "../../../shared/agent/events.ts";
import { findMessageId } from "../../sidecar/message-ids.ts";

/** A receipt that comes later than this is not worth a request. */
const NEWS_MS = 60_000;

export class Receipts {
  #open: string[] = [];
  /** The newest message of each delivery that the model has not taken. */
  readonly #deliveries = new Map<string, string>();

  get next(): string | undefined {
    return this.#open[0];
  }

  given(messageId: string): void {
    this.#open = this.#open.filter((other) => other !== messageId);
  }

  note(event: ThreadEvent, now: number): void {
    if (event.type === "delivery") {
      const newest = event.messageIds.findLast((id) => findMessageId(id) !== undefined);
      if (newest !== undefined) this.#deliveries.set(event.deliveryId, newest);
    } else if (event.type === "delivery_update" && event.status !== "queued") {
      const newest = this.#deliveries.get(event.deliveryId);
      this.#deliveries.delete(event.deliveryId);
      const isNews = now - Date.parse(event.ts) < NEWS_MS;
      if (newest !== undefined && event.status === "started" && isNews) this.#open.push(newest);
    }
  }
}
