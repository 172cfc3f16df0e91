/** How a text goes into a terminal's program: as keys, or as one paste in a frame. */
import { AppError } from "../../shared/errors.ts";
import { formatCount } from "../../shared/format-count.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { pause } from "../../shared/lifecycle.ts";
import { asLines, insideFrame, isPasted, type Paste } from "../../shared/paste.ts";
import { type Foreground, findForeground, linksLineEditor } from "../processes/foreground.ts";
import type { LineDisciplines } from "../processes/line-discipline.ts";
import type { StoredThread } from "../store/threads.ts";
import { sizeOfLog } from "../streams/log-file.ts";
import { type Asked, PasteModes } from "../streams/paste-modes.ts";
import type { TmuxServer } from "../tmux/server.ts";
import type { ThreadFiles } from "./thread-files.ts";

export interface Typed {
  text: string;
  /** Whether tmux is to put it into a frame, unless the program asks for none by then. */
  isFramed: boolean;
}

/** Shells that have their line editor built in. With all but fish, which is asked about before, the key after C-v is text. */
const EDITING_SHELL = /^(?:rbash|bash|zsh|fish)$/;
const QUOTED_TAB = "\u0016\t";
/** A line editor takes its asking back within this time after Enter, or goes on reading. */
const SETTLE_MS = 500;
/** One that has asked for nothing hands its terminal over within this time, or reads on key by key. */
const HAND_OVER_MS = 50;
const LOOK_MS = 5;
/** Each line may wait for its program, so of more than these nobody waits for any. */
const MAX_AWAITED_LINES = 50;
/** fish draws a line that it edits anew with each of these keys: as keys, 10 kB of quotes take it 12 s. */
const LONG_FOR_FISH = 1_000;
/**
 * fish draws a text of several lines anew with each of them, so it takes it a time of bytes × lines: 100 kB of 50 in a
 * line took it a minute, also on a bare terminal, and 25 kB three seconds. One long line counts as some.
 */
const MAX_FISH_WORK = 20_000_000;
const LEAST_FISH_LINES = 40;

export interface PastingServices {
  files: ThreadFiles;
  tmux: TmuxServer;
  lineDisciplines: LineDisciplines;
}

/** The last end of a line that was typed into a thread. */
interface Entered {
  /** Where the log ended before it. */
  logEnd: number;
  /** It may have met a line editor: whatever follows at once waits until that has taken it. */
  isAwaited: boolean;
  /** When it was typed. */
  atMs: number;
}

/** The callers hold the thread's queue. */
export class Pasting {
  readonly #files: ThreadFiles;
  readonly #tmux: TmuxServer;
  readonly #lineDisciplines: LineDisciplines;
  readonly #modes = new PasteModes();
  readonly #entered = new Map<string, Entered>();

  constructor({ files, tmux, lineDisciplines }: PastingServices) {
    this.#files = files;
    this.#tmux = tmux;
    this.#lineDisciplines = lineDisciplines;
  }

  /** @throws AppError `would_complete`, `unavailable` */
  async wayOf(thread: StoredThread, text: string, paste: Paste): Promise<Typed> {
    const mayMeetFish = isPasted(text, paste) || (paste !== false && text.length > LONG_FOR_FISH);
    const isFish = mayMeetFish && findForeground(thread.panePid, thread.tty)?.name === "fish";
    if (isFish) refuseForFish(text);
    if (!isPasted(text, isFish || paste)) return { text, isFramed: false };
    if ((await this.#settledAsking(thread)) !== false) return { text: insideFrame(text), isFramed: true };
    const lines = { text: paste === true ? asLines(text) : text, isFramed: false };
    return text.includes("\t") ? this.#withTabs(thread, lines) : lines;
  }

  /**
   * The pieces in which a text that is in no frame is typed: one after the other, so that none overtakes a shell that is
   * about to begin what the one before asked for. A program that edits no lines gets all at once.
   */
  async linesOf({ panePid, tty }: StoredThread, text: string): Promise<string[]> {
    const lines = text.match(/[^\r\n]*(?:\r\n?|\n)|[^\r\n]+$/g) ?? [];
    if (lines.length <= 1 || lines.length > MAX_AWAITED_LINES) return [text];
    if ((await this.#lineDisciplines.find(tty))?.isByLine) return [text];
    return isLineEditor(findForeground(panePid, tty)) ? lines : [text];
  }

  /**
   * Waits, once a command of the shell's own has been given the line that it reads, until the shell edits lines again.
   * @returns false if it goes on reading whole lines
   */
  async untilEditing({ panePid, tty }: StoredThread): Promise<boolean> {
    if (!isLineEditor(findForeground(panePid, tty))) return false;
    for (const startedAt = performance.now(); performance.now() < startedAt + SETTLE_MS; ) {
      if (!(await this.#lineDisciplines.find(tty))?.isByLine) return true;
      await pause(LOOK_MS);
    }
    return false;
  }

  /** Whether the program has asked for pastes in a frame, by what it has printed; undefined if nobody can say. */
  async asks(thread: StoredThread): Promise<boolean | undefined> {
    return (await this.#findAsked(thread)).asks;
  }

  /** After Enter, a shell takes its asking back and starts a program; text that follows at once must not overtake that. */
  async #settledAsking(thread: StoredThread): Promise<boolean | undefined> {
    const { threadId, panePid, tty } = thread;
    const entered = this.#entered.get(threadId);
    for (;;) {
      const asked = await this.#findAsked(thread);
      const { asks } = asked;
      const isSettled = !entered || hasTaken(entered, asked) || isAfter(entered, SETTLE_MS);
      if (!asks || isSettled || !isLineEditor(findForeground(panePid, tty))) return asks;
      await pause(LOOK_MS);
    }
  }

  #findAsked({ threadId, firstOffset, logBase }: StoredThread): Promise<Asked> {
    return this.#modes.find(threadId, this.#files.logs.path(threadId), firstOffset - logBase);
  }

  /**
   * Waits until the program has taken the last Enter, if that was typed a moment ago. Until then a shell's terminal may be
   * as its line editor has it: an Enter that comes now would stay a carriage return, and end no line for a program that
   * the shell is about to start and that reads whole lines.
   * @returns true if the program that reads now is known to read whole lines
   */
  async settle(thread: StoredThread): Promise<boolean> {
    const entered = this.#entered.get(thread.threadId);
    if (!entered?.isAwaited) return false;
    let isEditor: boolean | undefined;
    while (!isAfter(entered, SETTLE_MS)) {
      const asked = await this.#findAsked(thread);
      if (asked.asks && hasTaken(entered, asked)) return false; // it reads its next line
      if (!asked.asks) {
        const discipline = await this.#lineDisciplines.find(thread.tty);
        if (!discipline || discipline.isByLine) return discipline !== undefined;
        if (isAfter(entered, HAND_OVER_MS)) return false;
      } else {
        isEditor ??= isLineEditor(findForeground(thread.panePid, thread.tty));
        if (!isEditor) return false;
      }
      await pause(LOOK_MS);
    }
    return false;
  }

  /**
   * To be called before Enter or a key like it is typed.
   * @param isAwaited the key Enter, for a program that may be a line editor
   * @returns what is to be called once it is typed
   */
  noteEnter(threadId: ThreadId, isAwaited: boolean): () => void {
    const logEnd = sizeOfLog(this.#files.logs.path(threadId)).end;
    const entered = { logEnd, isAwaited, atMs: performance.now() };
    this.#entered.set(threadId, entered);
    return () => {
      entered.atMs = performance.now();
    };
  }

  forget(threadId: ThreadId): void {
    this.#modes.forget(threadId);
    this.#entered.delete(threadId);
  }

  /**
   * A line editor may take a tab for the key that completes words. Programs that read whole lines have none, and those
   * that draw the whole screen take a tab as text.
   */
  async #withTabs({ paneId, panePid, tty }: StoredThread, lines: Typed): Promise<Typed> {
    if ((await this.#lineDisciplines.find(tty))?.isByLine) return lines;
    if (await this.#tmux.screens.isFull(paneId)) return lines;
    const program = findForeground(panePid, tty);
    if (isLineEditor(program)) return { ...lines, text: lines.text.replaceAll("\t", QUOTED_TAB) };
    throw wouldComplete(program?.name);
  }
}

function wouldComplete(program = "the program"): AppError {
  return new AppError(
    "would_complete",
    `text: holds tabs, which ${program} may take for the key that completes words; nothing was typed. Put spaces in their place, or have it typed as it is (paste: false).`,
  );
}

/** fish drops every tab, also one in a frame. @throws AppError `would_complete` */
function refuseForFish(text: string): void {
  if (text.includes("\t")) throw wouldComplete("fish");
  const lines = text.split("\n").length;
  if (text.length * Math.max(lines, LEAST_FISH_LINES) <= MAX_FISH_WORK) return;
  throw new AppError(
    "would_complete",
    `text: has ${formatCount(lines)} ${lines === 1 ? "line" : "lines"} and ${formatCount(text.length)} characters, which fish draws again and again and may take minutes for; nothing was typed. Put it into a file, or have it typed as it is (paste: false).`,
  );
}

/** Whether a program has done with an Enter: it has taken its asking back since, or had not asked when it came. */
function hasTaken({ logEnd }: Entered, { changes }: Asked): boolean {
  const before = changes.findLast(({ position }) => position < logEnd);
  return before?.asks === false || changes.some(({ asks, position }) => !asks && position >= logEnd);
}

function isAfter({ atMs }: Entered, ms: number): boolean {
  return performance.now() >= atMs + ms;
}

function isLineEditor(program: Foreground | undefined): boolean {
  return program !== undefined && (EDITING_SHELL.test(program.name) || linksLineEditor(program.pid));
}
