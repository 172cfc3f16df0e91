/** The program's lines for the runner. Each is one write, so it is there whole or not at all. */
import { writeSync } from "node:fs";
import type { EventBody } from "../../../shared/agent/events.ts";
import type { History } from "./history.ts";
import type { FromOwn } from "./protocol.ts";

const STANDARD_OUTPUT = 1;

export type Said = Omit<FromOwn, "events"> & { events?: readonly EventBody[] };

export class Output {
  readonly #history: History;
  #byte = 0;

  /** @param history hears each event that is said */
  constructor(history: History) {
    this.#history = history;
  }

  /** Where the next line begins: the name of what it tells of. */
  get byte(): number {
    return this.#byte;
  }

  say(said: Said): void {
    const bytes = Buffer.from(`${JSON.stringify(said)}\n`);
    for (let done = 0; done < bytes.length; ) done += writeSync(STANDARD_OUTPUT, bytes, done);
    this.#byte += bytes.length;
    for (const event of said.events ?? []) this.#history.apply(event);
  }
}
