/** Whether the program of a terminal has asked for pastes in a frame, from what it printed: tmux before 3.6 tells nobody. */
import type { ThreadId } from "../../shared/ids.ts";
import { readBytes } from "./growing-file.ts";
import { sizeOfLog } from "./log-file.ts";

const STEP_BYTES = 256 * 1024;
/** It is not looked for further back. */
const MAX_BYTES = 16 * 1024 * 1024;
/** A sequence that sets modes is shorter, so that a longer one is none; it may lie across two steps. */
const MAX_SEQUENCE_BYTES = 96;

/** Modes that are set or reset, `2004` among them; or all are reset. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them
const CHANGES = /\u001b\[\?(?:\d{0,5};){0,7}2004(?:;\d{0,5}){0,7}([hl])|\u001bc/g;

interface Known {
  inode: number;
  /** How far the log was looked at. */
  end: number;
  /** It was looked at from its very beginning. */
  isWhole: boolean;
  last: Change | undefined;
}

interface Change {
  asks: boolean;
  /** Where it stands in the log. */
  position: number;
}

export interface Asked {
  /** Undefined if it asked for nothing in the last 16 MiB, and what it printed before is not known. */
  asks: boolean | undefined;
  /** Where in the log it said so last; -1 if it said nothing. */
  position: number;
}

export class PasteModes {
  readonly #known = new Map<string, Known>();

  /**
   * Reads what was printed since the last look.
   * @param start where the file begins to hold what was printed
   */
  async find(threadId: ThreadId, file: string, start: number): Promise<Asked> {
    const { end, inode } = sizeOfLog(file);
    const known = this.#known.get(threadId);
    const isSame = known?.inode === inode && known.end <= end;
    const from = Math.max(isSame ? known.end - MAX_SEQUENCE_BYTES : 0, end - MAX_BYTES, start);
    const before = isSame && known.end >= from ? known : undefined;
    const last = (await findLast(file, from, end)) ?? before?.last;
    const isWhole = from <= 0 || before?.isWhole === true;
    this.#known.set(threadId, { inode, end, last, isWhole });
    return { asks: last?.asks ?? (isWhole ? false : undefined), position: last?.position ?? -1 };
  }

  forget(threadId: ThreadId): void {
    this.#known.delete(threadId);
  }
}

/** The last change between two positions; undefined if there is none. */
async function findLast(file: string, from: number, end: number): Promise<Change | undefined> {
  for (let to = end; to > from; to -= STEP_BYTES) {
    const position = Math.max(from, to - STEP_BYTES);
    const length = Math.min(end, to + MAX_SEQUENCE_BYTES) - position;
    const text = (await readBytes(file, { position, length, end })).toString("latin1");
    const last = [...text.matchAll(CHANGES)].at(-1);
    if (last) return { asks: last[1] === "h", position: position + last.index };
  }
  return undefined;
}
