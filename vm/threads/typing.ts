/** Types into live panes: no line longer than the kernel takes, and an input with an id once. */
import { existsSync } from "node:fs";
import { MAX_LINE_BYTES } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { formatCount } from "../../shared/format-count.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Paste } from "../../shared/paste.ts";
import type { LineDisciplines } from "../processes/line-discipline.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import { TmuxError } from "../tmux/control-client.ts";
import type { TmuxServer } from "../tmux/server.ts";
import type { Pasting } from "./pasting.ts";
import { whileItRuns } from "./tmux-replies.ts";

const ENTER = "\r";
/** Stands in the pane between an input's id, which has no blanks, and the number of its lines that were typed. */
const AFTER_LINE = " ";

/** The key Enter, by all its names. */
const ENTERS = /^(?:Enter|C-[JMjm])$/;
/** Keys at which line mode hands over or forgets what was typed. Others are a few bytes: the limit has room for them. */
const ENDS_LINE = /^(?:Enter|C-[CDJMUZcdjmuz\\])$/;

/** A text for a terminal. */
export interface TextInput {
  text: string;
  /** Whether Enter follows it. */
  enter: boolean;
  paste: Paste;
  inputId?: string | undefined;
}

export interface TypingServices {
  store: Store;
  tmux: TmuxServer;
  pasting: Pasting;
  lineDisciplines: LineDisciplines;
}

/** The callers hold the thread's queue, and have seen that its program runs. */
export class Typing {
  readonly #store: Store;
  readonly #tmux: TmuxServer;
  readonly #pasting: Pasting;
  readonly #lineDisciplines: LineDisciplines;
  /** By thread: what was typed since the last end of a line, in bytes. */
  readonly #unfinishedLines = new Map<string, number>();

  constructor({ store, tmux, pasting, lineDisciplines }: TypingServices) {
    this.#store = store;
    this.#tmux = tmux;
    this.#pasting = pasting;
    this.#lineDisciplines = lineDisciplines;
  }

  /** Whether the program has asked for pastes in one piece. */
  async asksForPaste(thread: StoredThread): Promise<boolean> {
    return (await this.#pasting.asks(thread)) === true;
  }

  /** @throws AppError `thread_ended`, `unavailable` */
  async pressKey(thread: StoredThread, key: string): Promise<void> {
    const { threadId, paneId } = thread;
    const isByLine = await this.#pasting.settle(thread);
    const endsLine = ENDS_LINE.test(key);
    const noteTyped = endsLine ? this.#pasting.noteEnter(threadId, ENTERS.test(key) && !isByLine) : undefined;
    await whileItRuns(threadId, this.#tmux.typist.sendKey(paneId, key));
    noteTyped?.();
    if (endsLine) this.#unfinishedLines.delete(threadId);
  }

  /**
   * @returns whether the program reads a line without showing it; never without an `inputId`.
   * @throws AppError `thread_ended`, `too_large`, `would_complete`, `unavailable`
   */
  async type(thread: StoredThread, input: TextInput): Promise<{ isHidden: boolean }> {
    const { threadId } = thread;
    const isByLine = await this.#pasting.settle(thread);
    // Only who can tell a person names the input. Afterwards, the program may have read it already.
    const isHidden = input.inputId !== undefined && (await this.#isHiding(thread));
    const { text, isFramed } = await this.#pasting.wayOf(thread, input.text, input.paste);
    const bytes = Buffer.from(text, "utf8");
    const enter = Buffer.from(input.enter ? ENTER : "");
    const unfinished = await this.#checkLineLength(thread, Buffer.concat([bytes, enter]));
    const lines = isFramed ? [] : await this.#pasting.linesOf(thread, text);
    const send = isFramed
      ? (inputId?: string) => this.#typeFrame(thread, { bytes, enter, inputId }, isByLine)
      : (inputId?: string) => this.#typeLines(thread, { lines, enter, inputId }, isByLine);
    await whileItRuns(threadId, this.#typeOnce(thread, input.inputId, send));
    this.#unfinishedLines.set(threadId, unfinished);
    return { isHidden };
  }

  async #typeFrame(
    { threadId, paneId }: StoredThread,
    { bytes, enter, inputId }: { bytes: Buffer; enter: Buffer; inputId: string | undefined },
    isByLine: boolean,
  ): Promise<void> {
    const isEnter = enter.length > 0;
    const hasEnds = bytes.includes("\r") || bytes.includes("\n");
    const noteTyped =
      isEnter || hasEnds ? this.#pasting.noteEnter(threadId, isEnter && !isByLine) : undefined;
    await this.#tmux.typist.sendFramed(paneId, bytes, enter, inputId);
    noteTyped?.();
  }

  /** The pane knows how many of an input's lines are in it, so that none is typed twice after a kill. */
  async #typeLines(
    thread: StoredThread,
    { lines, enter, inputId }: { lines: readonly string[]; enter: Buffer; inputId: string | undefined },
    isFirstByLine: boolean,
  ): Promise<void> {
    const { threadId, paneId } = thread;
    const { typist } = this.#tmux;
    const typed = lines.length > 1 && inputId !== undefined ? await this.#countTyped(paneId, inputId) : 0;
    let mayEdit = true;
    for (const [index, line] of lines.entries()) {
      if (index < typed) continue;
      const isByLine = index === typed ? isFirstByLine : await this.#pasting.settle(thread);
      const isLast = index === lines.length - 1;
      const bytes = Buffer.concat([Buffer.from(line, "utf8"), isLast ? enter : Buffer.alloc(0)]);
      const hasEnd = bytes.includes("\r") || bytes.includes("\n");
      const noteTyped = hasEnd ? this.#pasting.noteEnter(threadId, !isByLine) : undefined;
      const mark = inputId === undefined || isLast ? inputId : `${inputId}${AFTER_LINE}${index + 1}`;
      try {
        await typist.sendBytes(paneId, bytes, mark);
      } catch (error) {
        // A line before this one has ended the program, which would have read no more of them either.
        if (index > 0 && error instanceof TmuxError) return;
        throw error;
      }
      noteTyped?.();
      if (isByLine && !isLast && mayEdit) mayEdit = await this.#pasting.untilEditing(thread);
    }
  }

  /** @returns how many lines of an input a process that was killed had typed */
  async #countTyped(paneId: string, inputId: string): Promise<number> {
    const [id, count] = (await this.#tmux.typist.findLastInputId(paneId))?.split(AFTER_LINE) ?? [];
    return id === inputId ? Number(count ?? 0) : 0;
  }

  /**
   * Whether an input of this id was typed. If the database can't tell, because the sidecar died in between, the pane
   * can: it keeps the last id.
   */
  async hasTyped({ threadId, status, paneId }: StoredThread, inputId: string): Promise<boolean> {
    const state = this.#store.inputs.find(threadId, inputId);
    if (state !== "sending") return state === "sent";
    return status === "running" && (await this.#tmux.typist.findLastInputId(paneId)) === inputId;
  }

  forget(threadId: ThreadId): void {
    this.#unfinishedLines.delete(threadId);
    this.#pasting.forget(threadId);
  }

  async #typeOnce(
    thread: StoredThread,
    inputId: string | undefined,
    send: (inputId?: string) => Promise<void>,
  ): Promise<void> {
    const { threadId } = thread;
    if (inputId === undefined) return send();
    // The pane keeps only the last id: what is still open is settled before this one takes its place.
    for (const open of this.#store.inputs.listSending(threadId)) {
      if (open !== inputId && (await this.hasTyped(thread, open))) {
        this.#store.inputs.set(threadId, open, "sent");
      }
    }
    this.#store.inputs.set(threadId, inputId, "sending");
    await send(inputId);
    this.#store.inputs.set(threadId, inputId, "sent");
  }

  /**
   * In line mode the kernel keeps the first 4,095 bytes of a line and drops the rest without a word.
   * @returns how long the line is that these bytes leave unfinished.
   */
  async #checkLineLength({ threadId, tty }: StoredThread, bytes: Buffer): Promise<number> {
    let length = this.#unfinishedLines.get(threadId) ?? 0;
    let longest = 0;
    for (const byte of bytes) {
      length = byte === 0x0a || byte === 0x0d ? 0 : length + 1;
      longest = Math.max(longest, length);
    }
    if (longest <= MAX_LINE_BYTES) return length;
    if (!(await this.#isLineMode(tty))) return 0;
    throw new AppError(
      "too_large",
      `text: makes a line of ${formatCount(longest)} bytes; the program reads line by line, where the kernel cuts lines over ${formatCount(MAX_LINE_BYTES)}.`,
    );
  }

  /** As for a password: whole lines, which are not shown. What draws by itself, such as a shell, reads key by key. */
  async #isHiding({ tty }: StoredThread): Promise<boolean> {
    const discipline = await this.#lineDisciplines.find(tty);
    return discipline?.isByLine === true && !discipline.isEchoing;
  }

  /** A terminal that is gone cuts nothing. */
  async #isLineMode(tty: string): Promise<boolean> {
    const discipline = await this.#lineDisciplines.find(tty);
    return discipline ? discipline.isByLine : existsSync(tty); // if it is gone, tmux will say so
  }
}
