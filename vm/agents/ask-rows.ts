/** The rows of a thread's asks: written as it asks, or made anew beside those of before. */
import type { AskReply } from "../../shared/agent/api.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { AskState, AskTable } from "../store/asks.ts";

/** How the events of one transaction change the rows. */
export interface AskRows {
  add(ask: AskReply): void;
  setState(requestId: string, state: AskState): void;
}

export function askRows(table: AskTable, threadId: ThreadId): AskRows {
  return {
    add: (ask) => table.add(ask),
    setState: (requestId, state) => table.setState(threadId, requestId, state),
  };
}

/**
 * A thread's asks as they are made anew, one transaction after the other. An ask is written once it is known how it
 * ended, and an open one with the last transaction: until then the row of before is shown, so nobody is told that an
 * ask is gone that is not.
 */
export class AsksAnew {
  readonly #table: AskTable;
  readonly #threadId: ThreadId;
  #open: ReadonlyMap<string, AskReply> = new Map();
  readonly #made = new Set<string>();

  constructor(table: AskTable, threadId: ThreadId) {
    this.#table = table;
    this.#threadId = threadId;
  }

  /** @returns the rows for one transaction, and what is to be called when it was made. */
  begin(): AskRows & { end: (isAnswered: (requestId: string) => boolean) => void; made: () => void } {
    const open = new Map(this.#open);
    const made = new Set<string>();
    const isMade = (requestId: string) => made.has(requestId) || this.#made.has(requestId);
    const put = (ask: AskReply, state: AskState) => {
      made.add(ask.requestId);
      this.#table.put(ask, state);
    };
    return {
      add: (ask) => {
        if (isMade(ask.requestId)) this.#table.add(ask);
        else open.set(ask.requestId, ask);
      },
      setState: (requestId, state) => {
        const ask = open.get(requestId);
        if (ask) put(ask, state);
        else if (isMade(requestId)) this.#table.setState(this.#threadId, requestId, state);
        open.delete(requestId);
      },
      end: (isAnswered) => {
        for (const ask of open.values()) put(ask, isAnswered(ask.requestId) ? "answered" : "open");
        for (const requestId of this.#table.listIds(this.#threadId))
          if (!isMade(requestId)) this.#table.remove(this.#threadId, requestId);
      },
      made: () => {
        this.#open = open;
        for (const requestId of made) this.#made.add(requestId);
      },
    };
  }
}
