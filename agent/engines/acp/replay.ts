/** Finds in an agent's replay of a conversation which deliveries it holds. */
import type { Update } from "./messages.ts";
import { MARKER_LENGTH, markerOf } from "./requests.ts";

export class Replay {
  readonly #missing: Set<string>;
  /** The end of what was said so far: a marker may come in two pieces. */
  #tail = "";

  constructor(deliveryIds: readonly string[]) {
    this.#missing = new Set(deliveryIds);
  }

  /** Deliveries that it has not told of. */
  get missing(): string[] {
    return [...this.#missing];
  }

  take(update: Update): void {
    if (update.sessionUpdate !== "user_message_chunk") return;
    const text = this.#tail + (update.content.text ?? "");
    for (const id of this.#missing) if (text.includes(markerOf(id))) this.#missing.delete(id);
    this.#tail = text.slice(-MARKER_LENGTH);
  }
}

/** Lines of a program's output that are no messages. */
export class Noise {
  #first = "";
  #lines = 0;

  /** Empty if there was none. */
  get text(): string {
    return this.#lines === 0 ? "" : `What it printed is no JSON: ${JSON.stringify(this.#first)}`;
  }

  /** @returns how many lines there are by now */
  take(text: string): number {
    this.#lines += 1;
    if (this.#lines === 1) this.#first = text.slice(0, MAX_NOISE);
    return this.#lines;
  }
}

const MAX_NOISE = 300;
