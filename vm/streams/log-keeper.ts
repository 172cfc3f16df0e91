/** Keeps logs whole and within their bound: it replaces a writer that died and gives old bytes back to the disk. */
import { execFile } from "node:child_process";
import { appendFileSync, existsSync, renameSync, rmSync, truncateSync } from "node:fs";
import { promisify } from "node:util";
import type { ThreadId } from "../../shared/ids.ts";
import { type KeyedQueue, pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import type { TmuxServer } from "../tmux/server.ts";
import { clearPlace, copyFrom, copyWhole, findLineStart, type LogSize, sizeOfLog } from "./log-file.ts";
import type { Logs } from "./logs.ts";

const run = promisify(execFile);
const BLOCK_BYTES = 4_096;
/** How much of a log that grew too large is kept. Were it all that is allowed, every second would cut again. */
const KEPT_SHARE = 0.75;
const RESTORED =
  "\r\n[threadmux: the log was deleted and has been written back; output of these moments may be missing here]\r\n";
const EMPTIED = "\r\n[threadmux: the log was emptied; what was in it is gone]\r\n";

export interface LogKeeperOptions {
  store: Store;
  tmux: TmuxServer;
  logs: Logs;
  queue: KeyedQueue;
  /** The most that one thread's log takes on disk. */
  logMaxBytes: number;
  /** False if the file system can't give back the start of a file: then the keeper writes the file anew. */
  canPunch?: boolean;
  log: Log;
  now: () => number;
  /** A writer was replaced. */
  onGap?: (threadId: ThreadId) => void;
}

export class LogKeeper {
  readonly #options: LogKeeperOptions;
  /** When the log's writer was last seen at work. */
  readonly #seenAlive = new Map<ThreadId, number>();
  readonly #failing = new Set<ThreadId>();
  /** The offset at which a log ended at the last look, by its thread's marker. */
  readonly #ends = new Map<string, number>();
  /** Logs whose threads rest and that were looked at since: by the thread's marker, the last process that wrote there. */
  readonly #atRest = new Map<string, number>();
  #canPunch: boolean;

  constructor(options: LogKeeperOptions) {
    this.#options = options;
    this.#canPunch = options.canPunch ?? true;
  }

  /** To be called every second: finds dead writers, and logs that somebody deleted or that are too large. */
  async look(): Promise<void> {
    const { store, logs, queue, logMaxBytes, now, tmux } = this.#options;
    const rows = store.threads.list("open").filter((row) => row.isMade);
    const open = new Set(rows.map((row) => row.threadId));
    for (const threadId of this.#seenAlive.keys()) if (!open.has(threadId)) this.#seenAlive.delete(threadId);
    const markers = new Set(rows.map((row) => row.marker));
    for (const marked of [this.#ends, this.#atRest])
      for (const marker of marked.keys()) if (!markers.has(marker)) marked.delete(marker);
    for (const row of rows) {
      const { threadId, marker, panePid } = row;
      const isRunning = row.status === "running";
      if (!isRunning && this.#atRest.get(marker) === panePid) continue;
      const size = sizeOfLog(logs.path(threadId));
      if (isRunning && tmux.downForMs() === null) {
        if (logs.isSinkAlive(threadId)) this.#seenAlive.set(threadId, now());
        else await queue.run(threadId, () => this.repair(threadId));
        if (!logs.isLogInPlace(threadId, size)) await queue.run(threadId, () => this.restore(threadId));
        else if (this.#hasLost(row, size)) await queue.run(threadId, async () => this.#goOn(threadId));
      }
      if (size.diskBytes > logMaxBytes) {
        await queue.run(threadId, () => this.shrink(threadId, Math.floor(logMaxBytes * KEPT_SHARE)));
      } else if (!isRunning) this.#atRest.set(marker, panePid);
    }
  }

  /**
   * Replaces a log's writer that died under a program that runs. What the program printed since is lost, and the log
   * says so. If the disk is full, the new writer can't start; the next look tries again. The caller holds the thread's
   * queue.
   * @throws AppError `unavailable`
   */
  async repair(threadId: ThreadId): Promise<void> {
    const { store, tmux, logs, log, now, onGap } = this.#options;
    const row = store.threads.find(threadId);
    if (row?.status !== "running" || logs.isSinkAlive(threadId)) return;
    await tmux.ping(); // throws if the server itself has just died: then nothing is missing and nobody will write again
    const lostMs = now() - (this.#seenAlive.get(threadId) ?? row.createdAt);
    const seconds = Math.max(1, Math.ceil(lostMs / 1_000));
    try {
      this.#goOn(threadId);
      const note = `\r\n[threadmux: output of at most ${seconds} s is missing here, the log's writer had ended]\r\n`;
      appendFileSync(logs.path(threadId), note, { mode: 0o600 });
      await tmux.pipe(row.paneId, {
        logPath: logs.pathForTmux(threadId),
        sinkPidPath: logs.sinkPidForTmux(threadId),
      });
    } catch (error) {
      if (!this.#failing.has(threadId))
        log.error({ threadId, err: error }, "a log has no writer and takes none");
      this.#failing.add(threadId);
      return;
    }
    log.error({ threadId, seconds }, "a log's writer had ended; output is missing");
    this.#failing.delete(threadId);
    this.#seenAlive.set(threadId, now());
    onGap?.(threadId);
  }

  /**
   * Writes back a log that somebody deleted (or replaced by another file) while its writer has it open. The bytes come
   * from the writer's open file, and a new writer opens the file that is there now. The caller holds the thread's queue.
   * @throws AppError `unavailable`
   */
  async restore(threadId: ThreadId): Promise<void> {
    const { store, tmux, logs, log, onGap } = this.#options;
    await tmux.ping();
    const row = store.threads.find(threadId);
    if (row?.status !== "running" || logs.isLogInPlace(threadId)) return;
    if (!(await logs.stopSink(threadId))) return; // it has ended: there will be another
    const output = logs.findSinkOutput(threadId);
    if (output === undefined) return;
    const { firstOffset, logBase, paneId } = row;
    try {
      copyWhole(output, firstOffset - logBase, logs.rewrite(threadId, firstOffset));
      store.threads.update(threadId, { logBase: firstOffset });
      clearPlace(logs.path(threadId));
      renameSync(logs.rewrite(threadId, firstOffset), logs.path(threadId));
    } catch (error) {
      if (!this.#failing.has(threadId))
        log.error({ threadId, err: error }, "a log was deleted and can't be written back");
      this.#failing.add(threadId);
      return;
    } finally {
      logs.signalSink(threadId, "SIGCONT");
    }
    await tmux.pipe(paneId, {
      logPath: logs.pathForTmux(threadId),
      sinkPidPath: logs.sinkPidForTmux(threadId),
    });
    // Bytes that the old writer takes from here on are lost. The note comes only after the new writer is there: if
    // `pipe` fails, all of this is done again, and bytes of a first note would stand at offsets that the program's
    // own output gets.
    appendFileSync(logs.path(threadId), RESTORED);
    log.error({ threadId }, "a log was deleted; it was written back");
    this.#failing.delete(threadId);
    onGap?.(threadId);
    // The old writer must be gone before anybody looks: it would be taken for the new one.
    for (let looks = 0; looks < 200 && logs.findSinkOutput(threadId) === output; looks++) await pause(10);
  }

  /** Whether the log is shorter than it was. */
  #hasLost(row: StoredThread, size: LogSize): boolean {
    const end = row.logBase + size.end;
    const known = Math.max(row.firstOffset, this.#ends.get(row.marker) ?? 0);
    if (end >= known) this.#ends.set(row.marker, end);
    return end < known;
  }

  /** Lets a log that was emptied, or deleted while nobody had it open, go on at the offset where it ended. */
  #goOn(threadId: ThreadId): void {
    const { store, logs, log } = this.#options;
    const row = store.threads.find(threadId);
    if (!row || !this.#hasLost(row, sizeOfLog(logs.path(threadId)))) return;
    const firstOffset = Math.max(row.firstOffset, this.#ends.get(row.marker) ?? 0);
    store.threads.update(threadId, { logBase: firstOffset, firstOffset });
    appendFileSync(logs.path(threadId), EMPTIED, { mode: 0o600 });
    log.error({ threadId, firstOffset }, "a log has lost what was in it");
  }

  /** To be called at start: finishes a log that was being written anew, and lets a stopped writer go on. */
  recover(): void {
    const { store, logs } = this.#options;
    for (const row of store.threads.list("open")) {
      // A copy for another base was cut off before the row was changed. The log is whole then, and the copy goes.
      if (existsSync(logs.rewrite(row.threadId, row.logBase))) this.#copyBack(row);
      logs.removeRewrites(row.threadId);
      logs.signalSink(row.threadId, "SIGCONT");
    }
  }

  /** Gives back all but the last `keepBytes` of a log. Offsets stay. The caller holds the thread's queue. */
  async shrink(threadId: ThreadId, keepBytes: number): Promise<void> {
    const { store, logs, log } = this.#options;
    const row = store.threads.find(threadId);
    if (!row) return;
    const file = logs.path(threadId);
    const { end } = sizeOfLog(file);
    const cut = Math.floor((end - keepBytes) / BLOCK_BYTES) * BLOCK_BYTES;
    if (cut <= row.firstOffset - row.logBase) return;
    const first = findLineStart(file, cut);
    if (this.#canPunch) {
      // The row is changed first, so that nobody reads the bytes that are about to go.
      store.threads.update(threadId, { firstOffset: row.logBase + first });
      try {
        await run("fallocate", [
          "--punch-hole",
          "--keep-size",
          "--offset",
          "0",
          "--length",
          String(cut),
          file,
        ]);
        log.info({ threadId, firstOffset: row.logBase + first }, "gave back the start of a log");
        return;
      } catch (error) {
        log.warn(
          { err: error },
          "this file system can't give back the start of a file; logs are written anew",
        );
        this.#canPunch = false;
      }
    }
    await this.#writeAnew({ ...row, firstOffset: row.logBase + first }, first);
  }

  /**
   * The fallback for file systems without holes. It stops the writer (tmux keeps what the program prints meanwhile),
   * puts the log's end in the place of the whole, and notes in `logBase` how much is gone, so that offsets stay. If the
   * sidecar crashes at any point, {@link recover} puts it right.
   */
  async #writeAnew(row: StoredThread, first: number): Promise<void> {
    const { store, logs, log } = this.#options;
    const { threadId } = row;
    if (!(await logs.stopSink(threadId))) return;
    try {
      const logBase = row.logBase + first;
      copyWhole(logs.path(threadId), first, logs.rewrite(threadId, logBase));
      store.threads.update(threadId, { logBase, firstOffset: logBase });
      this.#copyBack({ ...row, logBase });
      rmSync(logs.rewrite(threadId, logBase));
      log.info({ threadId, firstOffset: logBase }, "wrote a log anew without its start");
    } finally {
      logs.signalSink(threadId, "SIGCONT");
    }
  }

  /** Overwrites the log in place, because the writer has this very file open and appends to it. */
  #copyBack({ threadId, logBase }: StoredThread): void {
    const { logs } = this.#options;
    clearPlace(logs.path(threadId));
    if (existsSync(logs.path(threadId))) truncateSync(logs.path(threadId), 0);
    copyFrom(logs.rewrite(threadId, logBase), 0, logs.path(threadId), "a");
  }
}
