/** What can be done with threads: the operations behind the HTTP API. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import stripAnsi from "strip-ansi";
import type { z } from "zod";
import {
  type createRequestSchema,
  type Delivery,
  type inputRequestSchema,
  isOpen,
  type KillReply,
  MAX_COMMAND_BYTES,
  MAX_LINE_BYTES,
  MAX_OUTPUTS_BYTES,
  type OutputReply,
  type outputQuerySchema,
  type outputsRequestSchema,
  type ResizeRequest,
  type ScreenReply,
  type Thread,
} from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { Cgroups } from "../processes/cgroups.ts";
import { killTree } from "../processes/process-tree.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import { diskFull, FULL_BYTES } from "../streams/disk.ts";
import { drain } from "../streams/drain.ts";
import { makeLog, readLog, readLogTail, sizeOfLog, sizeOfReadableLog } from "../streams/log-file.ts";
import type { TmuxServer } from "../tmux/server.ts";
import { resolveDirectory } from "./directory.ts";
import { InputLimit } from "./input-limit.ts";
import { newMarker, type Runner, sessionName, TERMINAL_RUN } from "./programs.ts";
import type { RunEnd, ThreadFiles } from "./thread-files.ts";
import { describeEnd } from "./watcher.ts";

const run = promisify(execFile);
const SUMMARY_LINES = 10;
const DRAIN_TIMEOUT_MS = 3_000;

export interface ThreadsOptions {
  store: Store;
  tmux: TmuxServer;
  files: ThreadFiles;
  runner: Runner;
  cgroups: Cgroups | undefined;
  /**
   * One queue a thread: creation, input, the end of a process, kill and reconciliation never overlap. The
   * database is written before tmux is asked where a crash in between must be noticed.
   */
  queue: KeyedQueue;
  /** Ids that are being made right now. */
  creating: Set<string>;
  /** A real path. */
  reposDir: string;
  maxThreads: number;
  /** On the disk that holds the logs. */
  freeDiskBytes: () => number;
  log: Log;
  now: () => number;
}

/** Keys at which line mode hands over or forgets what was typed. Others are a few bytes: the limit has room for them. */
const ENDS_LINE = /^(?:Enter|C-[CDJMUZcdjmuz\\])$/;

export class Threads {
  readonly #options: ThreadsOptions;
  readonly #inputLimit: InputLimit;
  /** By thread: what was typed since the last end of a line, in bytes. */
  readonly #unfinishedLines = new Map<string, number>();

  constructor(options: ThreadsOptions) {
    this.#options = options;
    this.#inputLimit = new InputLimit(options.now);
  }

  /** @throws AppError `invalid_directory`, `thread_exists`, `max_threads`, `unavailable` */
  async create(request: z.output<typeof createRequestSchema>): Promise<{ tmuxSession: string }> {
    const { store, queue, creating, files, runner, cgroups, reposDir, now, log } = this.#options;
    const { threadId } = request;
    const marker = newMarker();
    return queue.run(threadId, async () => {
      const { path, dir } = await resolveDirectory(reposDir, request.dir);
      const existing = store.threads.find(threadId);
      if (existing && isOpen(existing.status)) {
        throw new AppError("thread_exists", `An open thread has the id ${threadId} already.`);
      }
      this.#checkTmux();
      if (request.type === "agent") runner.checkAgentProgram();
      this.#checkRoom();
      creating.add(threadId);
      try {
        files.remove(threadId);
        makeLog(files.log(threadId));
        const agentSession = request.type === "agent" ? randomUUID() : null;
        store.transaction(() => {
          store.threads.insert({ ...request, dir, path, createdAt: now(), marker, agentSession });
          if (request.type === "agent") store.turns.add(threadId, request.command, now());
        });
        await runner.open(this.#get(threadId));
      } catch (error) {
        store.threads.delete(threadId);
        files.remove(threadId);
        cgroups?.remove(marker);
        throw error;
      } finally {
        creating.delete(threadId);
      }
      log.info({ threadId, type: request.type }, "thread created");
      return { tmuxSession: sessionName(threadId) };
    });
  }

  /**
   * Types into a terminal, or gives an agent its next message. An `inputId` that has gone in before does nothing.
   * @throws AppError `not_found`, `thread_ended`, `too_large`, `invalid_request`, `unavailable`
   */
  async sendInput(
    threadId: string,
    input: z.output<typeof inputRequestSchema>,
  ): Promise<{ isDuplicate: boolean }> {
    this.#get(threadId);
    return this.#options.queue.run(threadId, async () => {
      const row = this.#get(threadId);
      const inputId = "inputId" in input ? input.inputId : undefined;
      if (inputId !== undefined && (await this.#hasGoneIn(row, inputId))) return { isDuplicate: true };
      if (!isOpen(row.status)) throw ended(row);
      this.#inputLimit.take(threadId, "text" in input ? Buffer.byteLength(input.text) : 1);
      if (row.type === "agent" && "text" in input) {
        await this.#addMessage(row, input.text, inputId);
      } else if (row.status !== "running") {
        throw ended(row);
      } else if (this.#findEnd(row)) {
        throw ended({ ...row, status: row.type === "agent" ? "idle" : "exited" }); // about to be noticed
      } else if ("key" in input) {
        await whereItRuns(row, this.#options.tmux.typist.sendKey(row.paneId, input.key));
        if (ENDS_LINE.test(input.key)) this.#unfinishedLines.delete(threadId);
      } else {
        const bytes = Buffer.from(input.enter ? `${input.text}\r` : input.text, "utf8");
        await whereItRuns(row, this.#type(row, bytes, inputId));
      }
      return { isDuplicate: false };
    });
  }

  /** How the program that runs now, or ran last, ended by its wrapper's word; undefined where it goes on. */
  #findEnd(row: StoredThread): RunEnd | undefined {
    const { store, files } = this.#options;
    const run = row.type === "terminal" ? TERMINAL_RUN : store.turns.find(row.threadId, "running")?.seq;
    return run === undefined ? undefined : files.findRunEnd(row.threadId, run);
  }

  async #addMessage({ threadId }: StoredThread, text: string, inputId: string | undefined): Promise<void> {
    const { store, runner, log, now } = this.#options;
    checkMessage(text);
    store.transaction(() => {
      store.turns.add(threadId, text, now());
      if (inputId !== undefined) store.inputs.set(threadId, inputId, "sent");
    });
    // The message is stored: from here on it will go in, now or when tmux is back.
    await runner
      .startWaitingTurn(threadId)
      .catch((error: unknown) => log.warn({ threadId, err: error }, "a message waits for tmux"));
  }

  async #type(row: StoredThread, bytes: Buffer, inputId: string | undefined): Promise<void> {
    const unfinished = await this.#checkLineLength(row, bytes);
    await this.#typeOnce(row, bytes, inputId);
    this.#unfinishedLines.set(row.threadId, unfinished);
  }

  async #typeOnce(row: StoredThread, bytes: Buffer, inputId: string | undefined): Promise<void> {
    const { store, tmux } = this.#options;
    if (inputId === undefined) return tmux.typist.sendBytes(row.paneId, bytes);
    // The pane keeps only the last id: what is still open is settled before this one takes its place.
    for (const open of store.inputs.listSending(row.threadId)) {
      if (open !== inputId && (await this.#hasGoneIn(row, open)))
        store.inputs.set(row.threadId, open, "sent");
    }
    store.inputs.set(row.threadId, inputId, "sending");
    await tmux.typist.sendBytes(row.paneId, bytes, inputId);
    store.inputs.set(row.threadId, inputId, "sent");
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
      `text: makes a line of ${longest.toLocaleString("en")} bytes; the program reads line by line, where the kernel cuts lines over ${MAX_LINE_BYTES.toLocaleString("en")}.`,
    );
  }

  /** Where the database can't tell, since the sidecar died in between, the pane can: it keeps the last id. */
  async #hasGoneIn(row: StoredThread, inputId: string): Promise<boolean> {
    const { store, tmux } = this.#options;
    const state = store.inputs.find(row.threadId, inputId);
    if (state !== "sending") return state === "sent";
    return row.status === "running" && (await tmux.typist.findLastInputId(row.paneId)) === inputId;
  }

  /** @throws AppError `not_found`, `range` */
  async readOutput(
    threadId: string,
    { since, limit }: Pick<z.output<typeof outputQuerySchema>, "since" | "limit">,
  ): Promise<OutputReply> {
    const { files } = this.#options;
    // The row is read first: a log is complete before its row says that the process has ended.
    const row = this.#get(threadId);
    const isComplete = row.status !== "running";
    const from = Math.max(since, row.firstOffset);
    const slice = await readLog(files.log(threadId), { since: from - row.logBase, limit, isComplete });
    // Old bytes may have been given back meanwhile, or an agent's next turn begun: then this was no complete log.
    const now = this.#get(threadId);
    const isOther = now.firstOffset > row.firstOffset || (isComplete && now.status === "running");
    if (isOther) return this.readOutput(threadId, { since, limit });
    const end = row.logBase + slice.end;
    if (since > end) {
      if (!existsSync(files.log(threadId)))
        throw new AppError("unavailable", "The log was deleted and is being looked after; try again.");
      throw new AppError("range", `since: ${since} lies beyond the log's end at ${end}.`);
    }
    return {
      output: slice.output,
      offset: row.logBase + slice.offset,
      gone: from - since,
      status: row.status,
      processRunning: row.status === "running",
      exitCode: row.exitCode,
      signal: row.signal,
      firstOffset: row.firstOffset,
      more: slice.hasMore,
      cols: row.cols,
      rows: row.rows,
    };
  }

  /** @throws AppError `range` */
  async readOutputs({
    since,
    limit,
  }: Pick<z.output<typeof outputsRequestSchema>, "since" | "limit">): Promise<Record<string, OutputReply>> {
    const known = Object.entries(since).filter(([threadId]) => this.#options.store.threads.find(threadId));
    const share = Math.max(1_024, Math.floor(MAX_OUTPUTS_BYTES / Math.max(1, known.length)));
    const replies = await Promise.all(
      known.map(async ([threadId, position]) => {
        const query = { since: position, limit: Math.min(limit, share) };
        const reply = await this.readOutput(threadId, query).catch((error: unknown) => {
          if (!(error instanceof AppError && error.code === "range")) throw error;
          throw new AppError("range", error.message.replace(/^since/, `since.${threadId}`));
        });
        return [threadId, reply] as const;
      }),
    );
    return Object.fromEntries(replies);
  }

  /**
   * What the terminal shows now.
   * @throws AppError `not_found`, `thread_ended` where its session is gone, `unavailable`
   */
  async getScreen(threadId: string, format: "text" | "ansi"): Promise<ScreenReply> {
    const row = this.#get(threadId);
    if (!isOpen(row.status)) throw ended(row);
    const screen = await whereItRuns(row, this.#options.tmux.captureScreen(row.paneId, format));
    return { ...screen, cols: row.cols, rows: row.rows };
  }

  /** @throws AppError `not_found`, `thread_ended`, `unavailable` */
  async resize(threadId: string, size: ResizeRequest): Promise<void> {
    const { queue, tmux, store } = this.#options;
    this.#get(threadId);
    await queue.run(threadId, async () => {
      const row = this.#get(threadId);
      if (!isOpen(row.status)) throw ended(row);
      await whereItRuns(row, tmux.resize(sessionName(threadId), size));
      store.threads.update(threadId, size);
    });
  }

  /** @throws AppError `not_found` */
  setDelivery(threadId: string, mark: Delivery): void {
    this.#get(threadId);
    this.#options.store.deliveries.set(threadId, mark);
  }

  /**
   * Ends the whole process tree and then the thread. Works while tmux is away too: the session is ended when it
   * is back.
   * @throws AppError `not_found`, `thread_ended`
   */
  async kill(threadId: string): Promise<KillReply> {
    const { queue, store, tmux, cgroups, log, now } = this.#options;
    this.#get(threadId);
    return queue.run(threadId, async () => {
      const row = this.#get(threadId);
      if (!isOpen(row.status)) throw ended(row);
      const survivors = await killTree({ ...row, group: cgroups?.pathOf(row.marker) });
      // The session's end would drop what tmux has not handed to the log yet.
      await whereTmuxAnswers(drain(this.#options, threadId, { timeoutMs: DRAIN_TIMEOUT_MS }));
      const summary = await this.#summary(row);
      const end = this.#findEnd(row);
      const wasRunning = row.status === "running";
      const ending = wasRunning
        ? describeEnd(end?.exitCode ?? null)
        : { exitCode: row.exitCode, signal: row.signal };
      await whereTmuxAnswers(tmux.killSession(sessionName(threadId)));
      store.threads.update(threadId, {
        status: "killed",
        ...ending,
        endedAt: wasRunning ? (end?.endedAt ?? now()) : (row.endedAt ?? now()),
      });
      this.#unfinishedLines.delete(threadId);
      log.info({ threadId, survivors }, "thread killed");
      return { killed: true, summary, exitCode: ending.exitCode, survivors };
    });
  }

  list(which: "open" | "ended" | "all"): Thread[] {
    const rows = this.#options.store.threads.list(which);
    return rows.filter((row) => row.isMade).map((row) => this.#describe(row));
  }

  /** @throws AppError `not_found` */
  getThread(threadId: string): Thread {
    return this.#describe(this.#get(threadId));
  }

  /**
   * The log as a file: from byte `start` (which is `firstOffset`) to `end`.
   * @throws AppError `not_found`
   */
  getLog(threadId: string): {
    file: string;
    start: number;
    end: number;
    firstOffset: number;
    /** Whether the file's bytes from `position` on are the ones that they were. */
    isStillThere: (position: number) => boolean;
  } {
    const { files, store } = this.#options;
    const { firstOffset, logBase } = this.#get(threadId);
    const file = files.log(threadId);
    const start = firstOffset - logBase;
    const isStillThere = (position: number) => {
      const row = store.threads.find(threadId);
      return row?.logBase === logBase && row.firstOffset - logBase <= position;
    };
    return { file, start, end: Math.max(start, sizeOfReadableLog(file).end), firstOffset, isStillThere };
  }

  #get(threadId: string): StoredThread {
    const row = this.#options.store.threads.find(threadId);
    if (!row) throw new AppError("not_found", `There is no thread ${JSON.stringify(threadId)}.`);
    return row;
  }

  #describe(row: StoredThread): Thread {
    const { end, diskBytes } = sizeOfLog(this.#options.files.log(row.threadId));
    return {
      threadId: row.threadId,
      type: row.type,
      dir: row.dir,
      command: row.command,
      status: row.status,
      createdBy: row.createdBy,
      createdAt: new Date(row.createdAt).toISOString(),
      endedAt: row.endedAt === null ? null : new Date(row.endedAt).toISOString(),
      processRunning: row.status === "running",
      exitCode: row.exitCode,
      signal: row.signal,
      offset: row.logBase + end,
      logBytes: diskBytes,
      cols: row.cols,
      rows: row.rows,
      waiting: row.type === "agent" ? this.#options.store.turns.countWaiting(row.threadId) : 0,
      delivery: this.#options.store.deliveries.find(row.threadId) ?? null,
    };
  }

  #checkTmux(): void {
    const downMs = this.#options.tmux.downForMs();
    if (downMs === null) return;
    throw new AppError("unavailable", `tmux has not answered for ${Math.ceil(downMs / 1_000)} s; try again.`);
  }

  #checkRoom(): void {
    const { store, maxThreads, freeDiskBytes } = this.#options;
    const open = store.threads.countOpen();
    if (open >= maxThreads) {
      throw new AppError(
        "max_threads",
        `${open} of ${maxThreads} threads are open; end one before you start another.`,
      );
    }
    if (freeDiskBytes() < FULL_BYTES) throw diskFull();
  }

  /** As tmux shows it; where tmux can't be asked, from the log without its escape sequences. */
  async #summary(row: StoredThread): Promise<string> {
    const { tmux, files } = this.#options;
    const shown = await whereTmuxAnswers(tmux.captureText(row.paneId, 200));
    const text =
      shown ?? stripAnsi(readLogTail(files.log(row.threadId), 16_384)).replace(/(?<!\r)\r+\n/g, "\n");
    return text.trimEnd().split("\n").slice(-SUMMARY_LINES).join("\n");
  }
}

function ended(row: StoredThread): AppError {
  const why: Record<StoredThread["status"], string> = {
    running: "its process runs",
    idle: "no turn of its agent runs; keys go to a running turn",
    exited: "its process has ended",
    killed: "it was killed",
    lost: "it was lost with the tmux server",
  };
  return new AppError("thread_ended", `Thread ${row.threadId} takes no input: ${why[row.status]}.`);
}

function checkMessage(text: string): void {
  if (text.trim() === "") throw new AppError("invalid_request", "text: must not be empty for an agent.");
  if (text.includes("\0")) throw new AppError("invalid_request", "text: must not hold a NUL for an agent.");
  if (Buffer.byteLength(text) > MAX_COMMAND_BYTES) {
    const limit = MAX_COMMAND_BYTES.toLocaleString("en");
    throw new AppError("too_large", `text: an agent's message may have at most ${limit} bytes.`);
  }
}

/** Rarely asked, so a process may be spawned for it. A terminal that is gone cuts nothing. */
async function isLineMode(tty: string): Promise<boolean> {
  try {
    const { stdout } = await run("stty", ["-a", "-F", tty], { timeout: 2_000 });
    return !/(^|\s)-icanon\b/.test(stdout);
  } catch {
    return existsSync(tty); // where it is gone, tmux will say so
  }
}

/** tmux has no such pane, or its process has ended: the thread's end is about to be noticed. */
async function whereItRuns<T>(row: StoredThread, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && error.name === "TmuxError") throw ended({ ...row, status: "exited" });
    throw error;
  }
}

/** The result, or undefined where tmux is away or no longer has the target. */
async function whereTmuxAnswers<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError && error.code === "unavailable") return undefined;
    if (error instanceof Error && error.name === "TmuxError") return undefined;
    throw error;
  }
}
