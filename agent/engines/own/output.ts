/** The program's lines for the runner. Each is one write, so it is there whole or not at all. */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { History } from "./history.ts";
import type { FromOwn } from "./protocol.ts";

export type Said = Omit<FromOwn, "events"> & { events?: readonly EventBody[] };

export class Output {
  readonly #history: History;
  readonly #write: (bytes: Buffer) => void;
  #byte = 0;

  /**
   * @param history hears each event that is said
   * @param write returns when all bytes are out
   */
  constructor(history: History, write: (bytes: Buffer) => void) {
    this.#history = history;
    this.#write = write;
  }

  /** Where the next line begins: the name of what it tells of. */
  get byte(): number {
    return this.#byte;
  }

  say(said: Said): void {
    const bytes = Buffer.from(`${JSON.stringify(said)}\n`);
    this.#write(bytes);
    this.#byte += bytes.length;
    for (const event of said.events ?? []) this.#history.apply(event);
  }
}
