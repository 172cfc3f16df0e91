/** How a text goes into a terminal's program: as keys, or as one paste in a frame. */
import { AppError } from "../../shared/errors.ts";
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

/** Shells that have their line editor built in. With all but fish, as with readline, the key after C-v is text. */
const EDITING_SHELL = /^(?:rbash|bash|zsh|fish)$/;
const QUOTED_TAB = "\u0016\t";
/** A line editor takes its asking back within this time after Enter, or goes on reading. */
const SETTLE_MS = 500;
const LOOK_MS = 10;

export interface PastingServices {
  files: ThreadFiles;
  tmux: TmuxServer;
  lineDisciplines: LineDisciplines;
}

/** The callers hold the thread's queue. */
export class Pasting {
  readonly #files: ThreadFiles;
  readonly #tmux: TmuxServer;
  readonly #lineDisciplines: LineDisciplines;
  readonly #modes = new PasteModes();
  /** By thread: the last Enter, and where the log ended before it. */
  readonly #entered = new Map<string, { logEnd: number; settledAt: number }>();

  constructor({ files, tmux, lineDisciplines }: PastingServices) {
    this.#files = files;
    this.#tmux = tmux;
    this.#lineDisciplines = lineDisciplines;
  }

  /** @throws AppError `would_complete`, `unavailable` */
  async wayOf(thread: StoredThread, text: string, paste: Paste): Promise<Typed> {
    if (!isPasted(text, paste)) return { text, isFramed: false };
    if ((await this.#settledAsking(thread)) !== false) return { text: insideFrame(text), isFramed: true };
    const lines = { text: paste === true ? asLines(text) : text, isFramed: false };
    return text.includes("\t") ? this.#withTabs(thread, lines) : lines;
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
      const { asks, position } = await this.#findAsked(thread);
      const isSettled = !entered || position >= entered.logEnd || performance.now() >= entered.settledAt;
      if (!asks || isSettled || !isLineEditor(findForeground(panePid, tty))) return asks;
      await pause(LOOK_MS);
    }
  }

  #findAsked({ threadId, firstOffset, logBase }: StoredThread): Promise<Asked> {
    return this.#modes.find(threadId, this.#files.logs.path(threadId), firstOffset - logBase);
  }

  /** To be called before Enter or a key like it is typed. */
  noteEnter(threadId: ThreadId): void {
    const logEnd = sizeOfLog(this.#files.logs.path(threadId)).end;
    this.#entered.set(threadId, { logEnd, settledAt: performance.now() + SETTLE_MS });
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
    if (isLineEditor(program) && program?.name !== "fish")
      return { ...lines, text: lines.text.replaceAll("\t", QUOTED_TAB) };
    throw new AppError(
      "would_complete",
      `text: holds tabs, which ${program?.name ?? "the program"} may take for the key that completes words; nothing was typed. Put spaces in their place, or have it typed as it is (paste: false).`,
    );
  }
}

function isLineEditor(program: Foreground | undefined): boolean {
  return program !== undefined && (EDITING_SHELL.test(program.name) || linksLineEditor(program.pid));
}
