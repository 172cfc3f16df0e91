/** The newest mark of a document that is small enough to be kept. Pure. */
import type { LogEvent } from "./checkpoints.ts";
import type { Document } from "./document.ts";
import { decodeMark, encodeMark, type Mark } from "./mark.ts";

/**
 * While the screen is too full for a mark, the last one that fitted stays good: more of the log is read again, and
 * what happened since besides the log's bytes is added to it.
 */
export class KeptMark {
  readonly #maxCharacters: number;
  #mark: Mark | undefined;
  /** What has happened since that mark was made. */
  #events: LogEvent[] = [];

  constructor(maxCharacters: number, mark?: Mark) {
    this.#maxCharacters = maxCharacters;
    this.#mark = mark;
  }

  record(event: LogEvent): void {
    this.#events.push(event);
  }

  make(document: Document): Mark | undefined {
    const mark = document.mark(this.#maxCharacters) ?? this.#older();
    if (mark === undefined) return undefined;
    this.#mark = mark;
    this.#events = [];
    return mark;
  }

  #older(): Mark | undefined {
    const mark = this.#mark;
    if (mark === undefined || this.#events.length === 0) return mark;
    const { screen, pager, frames, events } = decodeMark(mark);
    const candidate = { offset: mark.offset, screen, pager, frames, events: [...events] };
    return encodeMark(candidate, this.#events, this.#maxCharacters) ?? mark;
  }
}
