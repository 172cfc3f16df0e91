/** Sees to it that no program keeps tmux from all other threads: it makes the terminal small that costs too much. */
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import { readBytes } from "../streams/growing-file.ts";
import { sizeOfLog } from "../streams/log-file.ts";
import type { TmuxServer } from "../tmux/server.ts";
import { isLarge } from "./held-size.ts";
import type { ThreadFiles } from "./thread-files.ts";
import type { Threads } from "./threads.ts";

/** A server that uses less of a core is not asked anything. On a busy machine even one that never rests gets little. */
const BUSY_SHARE = 0.1;
/**
 * An answer that took the server so much CPU time was held up. A flood of lines, a full-screen program that redraws
 * 500 × 200 cells without end, or a loop of `clear` hold it for at most 10 ms; a terminal that is held small still can
 * for 110 ms, and no large one must be blamed for that.
 */
const LONG_HOLD_MS = 250;
/** How long it must have been held, by one answer or by one after the other. */
const ENOUGH_HOLD_MS = 300;
/**
 * Many small floods hold up an answer too, each for a moment. They print much meanwhile: the dearest costs 0.4 µs a
 * byte, a loop of `clear` 4 µs, a program that does nothing but fill 500 × 200 cells 180 µs.
 */
const DEAR_US_PER_BYTE = 15;
/** While tmux is held up, what a program prints reaches its log seconds later. */
const LATELY_MS = 5_000;
/** So often, and for so long at most, the logs of large terminals are looked at once tmux is held up. */
const SEARCH_MS = 50;
const MAX_SEARCH_MS = 2_000;
/** How much of a log's end is read to see what a program prints. */
const LOOK_BYTES = 4_096;
/** What is dear is short: so many escapes are in it at the least. */
const MIN_ESCAPES = LOOK_BYTES / 20;
const ESC = 0x1b;

export interface WatchdogOptions {
  store: Store;
  tmux: TmuxServer;
  files: ThreadFiles;
  threads: Threads;
  log: Log;
  now: () => number;
}

/**
 * tmux is one process that draws all panes, and what fills a large screen again and again costs it up to 800 ms for
 * each 4,096 bytes. No option of tmux bounds that; a smaller pane does. While no terminal is large, a look costs
 * nothing; otherwise one read of /proc. Only a server that is busy is asked how long it takes to answer.
 */
export class Watchdog {
  readonly #options: WatchdogOptions;
  #last = { at: 0, cpuMs: 0 };

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  /** To be called some times a second. @throws AppError `unavailable` */
  async look(): Promise<void> {
    const { store, tmux, threads, log } = this.#options;
    if (!this.#isBusy()) return;
    const running = store.threads.list("open").filter(({ status }) => status === "running");
    if (!running.some(isLarge)) return;
    const before = this.#endsOf(running);
    const heldMs = await this.#measureHold();
    if (heldMs === undefined) return;
    const bytes = this.#endsOf(running).reduce(
      (sum, end, i) => sum + Math.max(0, end - (before[i] ?? end)),
      0,
    );
    if (heldMs * 1_000 < bytes * DEAR_US_PER_BYTE) return;
    const dearest = await this.#awaitDearest(running.filter(isLarge));
    if (!dearest) return;
    const { threadId, cols, rows } = dearest;
    await threads.holdSmall(threadId);
    this.#last = { at: performance.now(), cpuMs: tmux.findCpuMs() ?? 0 };
    log.warn(
      { threadId, cols, rows, heldMs, bytes },
      "made a terminal smaller: it kept tmux from all others",
    );
  }

  #isBusy(): boolean {
    const { at, cpuMs } = this.#last;
    this.#last = { at: performance.now(), cpuMs: this.#options.tmux.findCpuMs() ?? 0 };
    return this.#last.cpuMs - cpuMs > (this.#last.at - at) * BUSY_SHARE;
  }

  /** Undefined as soon as an answer was not held up. */
  async #measureHold(): Promise<number | undefined> {
    for (let heldMs = 0; ; ) {
      const answerMs = await this.#options.tmux.measureHold(ENOUGH_HOLD_MS - heldMs);
      heldMs += answerMs;
      if (heldMs >= ENOUGH_HOLD_MS) return heldMs;
      if (answerMs < LONG_HOLD_MS) return undefined;
    }
  }

  #endsOf(threads: readonly StoredThread[]): number[] {
    const { logs } = this.#options.files;
    return threads.map(({ threadId, logBase }) => logBase + sizeOfLog(logs.path(threadId)).end);
  }

  /**
   * tmux passes on what a program prints when it has drawn it: the log of one that has just begun to fill its screen
   * says so some 800 ms of the server's CPU time later.
   */
  async #awaitDearest(threads: readonly StoredThread[]): Promise<StoredThread | undefined> {
    for (const untilMs = performance.now() + MAX_SEARCH_MS; ; ) {
      const dearest = await this.#findDearest(threads);
      if (dearest || performance.now() > untilMs) return dearest;
      await pause(SEARCH_MS);
    }
  }

  /** Finds, among the threads that printed lately, the one that makes tmux draw the most cells for what it prints. */
  async #findDearest(threads: readonly StoredThread[]): Promise<StoredThread | undefined> {
    const { files, now } = this.#options;
    const { logs } = files;
    const rated = [];
    for (const thread of threads) {
      const file = logs.path(thread.threadId);
      const { end, modifiedAt } = sizeOfLog(file);
      if (modifiedAt < now() - LATELY_MS) continue;
      const position = Math.max(0, end - LOOK_BYTES);
      const printed = await readBytes(file, { position, length: LOOK_BYTES, end });
      const escapes = printed.filter((byte) => byte === ESC).length;
      if (escapes >= MIN_ESCAPES) rated.push({ thread, cost: escapes * thread.cols * thread.rows });
    }
    return rated.sort((one, other) => other.cost - one.cost)[0]?.thread;
  }
}
