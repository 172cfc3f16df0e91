/** Reading threads' logs, with patience: answers the moment there is something new, or the status is another. */
import { existsSync } from "node:fs";
import type { z } from "zod";
import {
  MAX_OUTPUTS_BYTES,
  type OutputReply,
  type outputQuerySchema,
  type outputsRequestSchema,
} from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { Store } from "../store/store.ts";
import { readLog } from "../streams/log-file.ts";
import type { LogWatch } from "../streams/log-watch.ts";
import type { ThreadFiles } from "./thread-files.ts";
import type { Threads } from "./threads.ts";

type Range = Pick<z.output<typeof outputQuerySchema>, "since" | "limit">;
type Ranges = Pick<z.output<typeof outputsRequestSchema>, "since" | "limit">;

export interface OutputsOptions {
  store: Store;
  files: ThreadFiles;
  threads: Threads;
  logWatch: LogWatch;
  /** Told how long each look into the logs took, without any waiting. */
  onRead?: (seconds: number) => void;
}

export class Outputs {
  readonly #options: OutputsOptions;

  constructor(options: OutputsOptions) {
    this.#options = options;
  }

  /**
   * @param signal fires when nobody waits for the answer any more.
   * @throws AppError `not_found`, `range`, `unavailable`
   */
  async read(
    threadId: string,
    query: z.output<typeof outputQuerySchema>,
    signal: AbortSignal,
  ): Promise<OutputReply> {
    const { waitMs, status, ...range } = query;
    const isNews = (reply: OutputReply) => isWorthAnswering(reply, status);
    return this.#untilNews([threadId], waitMs, signal, () => this.#readOne(threadId, range), isNews);
  }

  /** Threads that are not there are left out. @throws AppError `range`, `unavailable` */
  async readMany(
    { waitMs, status, ...ranges }: z.output<typeof outputsRequestSchema>,
    signal: AbortSignal,
  ): Promise<Record<string, OutputReply>> {
    const threadIds = Object.keys(ranges.since);
    const isNews = (replies: Record<string, OutputReply>) =>
      threadIds.some((threadId) => {
        const reply = replies[threadId];
        return reply === undefined || isWorthAnswering(reply, status?.[threadId]);
      });
    return this.#untilNews(threadIds, waitMs, signal, () => this.#readAll(ranges), isNews);
  }

  async #untilNews<T>(
    threadIds: string[],
    waitMs: number,
    signal: AbortSignal,
    read: () => Promise<T>,
    isNews: (value: T) => boolean,
  ): Promise<T> {
    const { logWatch, onRead } = this.#options;
    const deadline = performance.now() + waitMs;
    const listener = logWatch.listen(threadIds);
    try {
      for (;;) {
        const startedAt = performance.now();
        const value = await read();
        onRead?.((performance.now() - startedAt) / 1_000);
        const leftMs = deadline - performance.now();
        if (leftMs <= 0 || isNews(value) || signal.aborted || logWatch.isClosed) return value;
        await listener.wait(leftMs, signal);
      }
    } finally {
      listener.end();
    }
  }

  async #readAll({ since, limit }: Ranges): Promise<Record<string, OutputReply>> {
    const known = Object.entries(since).filter(([threadId]) => this.#options.store.threads.find(threadId));
    const share = Math.max(1_024, Math.floor(MAX_OUTPUTS_BYTES / Math.max(1, known.length)));
    const replies = await Promise.all(
      known.map(async ([threadId, position]) => {
        const range = { since: position, limit: Math.min(limit, share) };
        const reply = await this.#readOne(threadId, range).catch((error: unknown) => {
          if (!(error instanceof AppError && error.code === "range")) throw error;
          throw new AppError("range", error.message.replace(/^since/, `since.${threadId}`));
        });
        return [threadId, reply] as const;
      }),
    );
    return Object.fromEntries(replies);
  }

  async #readOne(threadId: string, { since, limit }: Range): Promise<OutputReply> {
    const { files, threads } = this.#options;
    // The thread is read first: a log is complete before its thread says that the process has ended.
    const thread = threads.getStored(threadId);
    const { status, firstOffset, logBase } = thread;
    const isComplete = status !== "running";
    const from = Math.max(since, firstOffset);
    const slice = await readLog(files.log(threadId), { since: from - logBase, limit, isComplete });
    // Old bytes may have been given back meanwhile, or an agent's next turn begun: then this was no complete log.
    const now = threads.getStored(threadId);
    const isOther = now.firstOffset > firstOffset || (isComplete && now.status === "running");
    if (isOther) return this.#readOne(threadId, { since, limit });
    const end = logBase + slice.end;
    if (since > end) {
      if (!existsSync(files.log(threadId)))
        throw new AppError("unavailable", "The log was deleted and is being looked after; try again.");
      throw new AppError("range", `since: ${since} lies beyond the log's end at ${end}.`);
    }
    const { text, start, end: chunkEnd, replaced } = slice.chunk;
    return {
      output: text,
      start: logBase + start,
      offset: logBase + chunkEnd,
      ...(replaced === undefined ? {} : { replaced }),
      gone: from - since,
      status,
      processRunning: status === "running",
      exitCode: thread.exitCode,
      signal: thread.signal,
      firstOffset,
      more: slice.hasMore,
      cols: thread.cols,
      rows: thread.rows,
    };
  }
}

/** A thread that waits for nothing (its process has ended for good) is never waited for. */
function isWorthAnswering(reply: OutputReply, knownStatus: string | undefined): boolean {
  if (reply.output !== "" || reply.more) return true;
  if (knownStatus !== undefined) return reply.status !== knownStatus;
  return reply.status !== "running" && reply.status !== "idle";
}
