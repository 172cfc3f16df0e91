/** Types into live panes: no line longer than the kernel takes, and an input with an id once. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { MAX_LINE_BYTES } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { formatCount } from "../../shared/format-count.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import type { TmuxServer } from "../tmux/server.ts";
import { whileItRuns } from "./tmux-replies.ts";

const run = promisify(execFile);

/** Keys at which line mode hands over or forgets what was typed. Others are a few bytes: the limit has room for them. */
const ENDS_LINE = /^(?:Enter|C-[CDJMUZcdjmuz\\])$/;

/** The callers hold the thread's queue, and have seen that its program runs. */
export class Typing {
  readonly #store: Store;
  readonly #tmux: TmuxServer;
  /** By thread: what was typed since the last end of a line, in bytes. */
  readonly #unfinishedLines = new Map<string, number>();

  constructor({ store, tmux }: { store: Store; tmux: TmuxServer }) {
    this.#store = store;
    this.#tmux = tmux;
  }

  /** @throws AppError `thread_ended`, `unavailable` */
  async pressKey({ threadId, paneId }: StoredThread, key: string): Promise<void> {
    await whileItRuns(threadId, this.#tmux.typist.sendKey(paneId, key));
    if (ENDS_LINE.test(key)) this.#unfinishedLines.delete(threadId);
  }

  /** @throws AppError `thread_ended`, `too_large`, `unavailable` */
  async type(thread: StoredThread, text: string, inputId: string | undefined): Promise<void> {
    const { threadId } = thread;
    const bytes = Buffer.from(text, "utf8");
    const unfinished = await this.#checkLineLength(thread, bytes);
    await whileItRuns(threadId, this.#typeOnce(thread, bytes, inputId));
    this.#unfinishedLines.set(threadId, unfinished);
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

  forget(threadId: string): void {
    this.#unfinishedLines.delete(threadId);
  }

  async #typeOnce(thread: StoredThread, bytes: Buffer, inputId: string | undefined): Promise<void> {
    const { threadId, paneId } = thread;
    if (inputId === undefined) return this.#tmux.typist.sendBytes(paneId, bytes);
    // The pane keeps only the last id: what is still open is settled before this one takes its place.
    for (const open of this.#store.inputs.listSending(threadId)) {
      if (open !== inputId && (await this.hasTyped(thread, open))) {
        this.#store.inputs.set(threadId, open, "sent");
      }
    }
    this.#store.inputs.set(threadId, inputId, "sending");
    await this.#tmux.typist.sendBytes(paneId, bytes, inputId);
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
    if (!(await isLineMode(tty))) return 0;
    throw new AppError(
      "too_large",
      `text: makes a line of ${formatCount(longest)} bytes; the program reads line by line, where the kernel cuts lines over ${formatCount(MAX_LINE_BYTES)}.`,
    );
  }
}

/** Rarely asked, so a process may be spawned for it. A terminal that is gone cuts nothing. */
async function isLineMode(tty: string): Promise<boolean> {
  try {
    const { stdout } = await run("stty", ["-a", "-F", tty], { timeout: 2_000 });
    return !/(^|\s)-icanon\b/.test(stdout);
  } catch {
    return existsSync(tty); // if it is gone, tmux will say so
  }
}
