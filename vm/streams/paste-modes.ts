/** Whether the program of a terminal has asked for pastes in a frame, from what it printed: tmux before 3.6 tells nobody. */
import type { ThreadId } from "../../shared/ids.ts";
import { readBytes } from "./growing-file.ts";
import { sizeOfLog } from "./log-file.ts";

const STEP_BYTES = 256 * 1024;
/** It is not looked for further back. */
const MAX_BYTES = 16 * 1024 * 1024;
/** tmux takes no sequence with more parameter bytes, and none with more parameters. @see input.c of tmux 3.3a, and tried */
const MAX_PARAMETER_BYTES = 63;
const MAX_PARAMETERS = 23;
/** A change of modes is shorter, the control characters that may stand in it included; it may lie across two steps. */
const MAX_SEQUENCE_BYTES = 96;
/** A device's string, such as a picture, is looked for so far before a change that could lie in it. */
const MAX_STRING_BYTES = 4096;

/** A sequence that sets or resets modes, control characters that do not end it included; or one that resets all. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them
const CHANGES = /\u001b\[\?([\u0000-\u0017\u0019\u001c-\u001f\u007f0-;]{1,90})([hl])|\u001bc/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them
const CONTROLS = /[\u0000-\u001f\u007f]/g;

/**
 * A device's string with its end; tmux gives up one that has none. Before the letter that says what the string is, an
 * escape begins a new sequence; behind it, an escape takes the next character with it.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them
const STRINGS = /\x1bP[\x00-\x17\x19\x1c-\x1f\x7f0-9;<-? -/]{0,64}[@-~](?:[^\x1b]|\x1b[^\\])*\x1b\\/g;

interface Known {
  inode: number;
  /** How far the log was looked at. */
  end: number;
  /** It was looked at from its very beginning. */
  isWhole: boolean;
  /** The newest, the oldest of them first. */
  changes: readonly Change[];
}

export interface Change {
  asks: boolean;
  /** Where it stands in the log. */
  position: number;
}

/** A shell makes two for each command. */
const MAX_KEPT = 16;

export interface Asked {
  /** Undefined if it asked for nothing in the last 16 MiB, and what it printed before is not known. */
  asks: boolean | undefined;
  /** The newest of its changes, the oldest of them first. */
  changes: readonly Change[];
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
    const found = await findLast(file, from, end);
    const old = (before?.changes ?? []).filter(({ position }) => position < (found[0]?.position ?? end));
    const changes = [...old, ...found].slice(-MAX_KEPT);
    const isWhole = from <= 0 || before?.isWhole === true;
    this.#known.set(threadId, { inode, end, changes, isWhole });
    return { asks: changes.at(-1)?.asks ?? (isWhole ? false : undefined), changes };
  }

  forget(threadId: ThreadId): void {
    this.#known.delete(threadId);
  }
}

/** The last change between two positions, and those that stand near before it. */
async function findLast(file: string, from: number, end: number): Promise<Change[]> {
  for (let to = end; to > from; to -= STEP_BYTES) {
    const position = Math.max(from, to - STEP_BYTES);
    const length = Math.min(end, to + MAX_SEQUENCE_BYTES) - position;
    const text = (await readBytes(file, { position, length, end })).toString("latin1");
    const last: Change[] = [];
    for (const change of [...text.matchAll(CHANGES)].reverse()) {
      if (!isPasteChange(change, text)) continue;
      last.unshift({ asks: change[2] === "h", position: position + change.index });
      if (last.length === MAX_KEPT) break;
    }
    if (last.length > 0) return last;
  }
  return [];
}

function isPasteChange({ 1: modes, index }: RegExpExecArray, text: string): boolean {
  if (modes !== undefined) {
    const parameters = modes.replaceAll(CONTROLS, "");
    if (parameters.length > MAX_PARAMETER_BYTES) return false;
    const each = parameters.split(";");
    if (each.length > MAX_PARAMETERS || !each.some((mode) => /^0*2004$/.test(mode))) return false;
  }
  return !isInString(text, index);
}

/**
 * Tells whether a change stands within a device's string, which tmux skips: a program that takes its terminal for another
 * multiplexer's wraps what it asks for.
 */
function isInString(text: string, index: number): boolean {
  const start = Math.max(0, index - MAX_STRING_BYTES);
  const near = text.slice(start, index + MAX_STRING_BYTES);
  for (const string of near.matchAll(STRINGS)) {
    const begin = start + string.index;
    if (begin > index) return false;
    if (begin + string[0].length > index) return true;
  }
  return false;
}
