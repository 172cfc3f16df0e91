/** Reading threads' logs, with patience: answers the moment there is something new, or the status is another. */
import { existsSync } from "node:fs";
import type * as z from "zod";
import type { TranscriptReply, transcriptQuerySchema } from "../../shared/agent/api.ts";
import { MAX_OUTPUTS_BYTES, type OutputReply, type outputQuerySchema } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { viewSchema } from "../../shared/follow/spec.ts";
import { entriesById, idsOf, type ThreadId } from "../../shared/ids.ts";
import { CHANNELS, HOMELESS, SPOKEN, type Store } from "../store/store.ts";
import { readLog } from "../streams/log-file.ts";
import type { LogWatch } from "../streams/log-watch.ts";
import type { OwnOutputsReply, OwnOutputsRequest } from "./homes.ts";
import type { ThreadFiles } from "./thread-files.ts";
import type { Threads } from "./threads.ts";

type Range = Pick<z.output<typeof outputQuerySchema>, "since" | "limit">;
type Ranges = Pick<OwnOutputsRequest, "since" | "limit">;

/** Threads that have a transcript beside their log, whoever keeps them. */
export interface TranscriptReader {
  /** @throws AppError `not_found`, `range` */
  readTranscript: (threadId: ThreadId, range: Range) => Promise<TranscriptReply>;
}

export interface OutputsOptions {
  store: Store;
  files: ThreadFiles;
  threads: Threads;
  agents: TranscriptReader;
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
    threadId: ThreadId,
    query: z.output<typeof outputQuerySchema>,
    signal: AbortSignal,
  ): Promise<OutputReply> {
    const { waitMs, status, ...range } = query;
    const isNews = (reply: OutputReply) => isWorthAnswering(reply, status);
    return this.#untilNews([threadId], waitMs, signal, () => this.#readOne(threadId, range), isNews);
  }

  /**
   * As {@link read}, over an agent's transcript.
   * @throws AppError `not_found`, `range`
   */
  async readTranscript(
    threadId: ThreadId,
    { waitMs, status, live = "none", ...range }: z.output<typeof transcriptQuerySchema>,
    signal: AbortSignal,
  ): Promise<TranscriptReply> {
    const { agents } = this.#options;
    const isNews = (reply: TranscriptReply) =>
      reply.lines !== "" ||
      (status !== undefined && reply.status !== status) ||
      (reply.live?.updatedAt ?? "none") !== live;
    const read = () => agents.readTranscript(threadId, range);
    return this.#untilNews([threadId], waitMs, signal, read, isNews);
  }

  /** Threads that are not there are left out. @throws AppError `range`, `unavailable` */
  async readMany(
    {
      waitMs,
      status,
      transcripts: positions,
      homeless,
      channels: state,
      spoken: said,
      ...ranges
    }: OwnOutputsRequest,
    signal: AbortSignal,
  ): Promise<OwnOutputsReply> {
    const logs = idsOf(ranges.since);
    const agents = idsOf(positions);
    const { store } = this.#options;
    const isNews = ({ threads, transcripts, homeless: now = [], channels, spoken }: OwnOutputsReply) =>
      channels !== state ||
      spoken !== said ||
      now.some((threadId) => !homeless?.includes(threadId)) ||
      logs.some((threadId) => {
        const reply = threads[threadId];
        return reply === undefined || isWorthAnswering(reply, status?.[threadId]);
      }) ||
      agents.some((threadId) => {
        const reply = transcripts[threadId];
        // What happens this moment is news once a poll.
        return reply === undefined || isWorthTelling(reply, status?.[threadId]);
      });
    const read = async () => ({
      threads: await this.#readAll(ranges),
      transcripts: await this.#readTranscripts(positions, ranges.limit),
      ...(homeless && { homeless: store.homes.listHomeless() }),
      ...(state !== undefined && { channels: store.channels.revision }),
      ...(said !== undefined && { spoken: store.spoken.revision }),
    });
    const beside = [
      ...(homeless ? [HOMELESS] : []),
      ...(state === undefined ? [] : [CHANNELS]),
      ...(said === undefined ? [] : [SPOKEN]),
    ];
    return this.#untilNews([...logs, ...agents, ...beside], waitMs, signal, read, isNews);
  }

  async #readTranscripts(
    positions: Record<ThreadId, number>,
    limit: number,
  ): Promise<OwnOutputsReply["transcripts"]> {
    const { store, agents } = this.#options;
    const known = entriesById(positions).filter(([threadId]) => store.agents.find(threadId));
    const share = Math.max(1_024, Math.floor(MAX_OUTPUTS_BYTES / Math.max(1, known.length)));
    const replies = await Promise.all(
      known.map(async ([threadId, since]) => {
        const range = { since, limit: Math.min(limit, share) };
        const reply = await agents.readTranscript(threadId, range).catch(ifGone);
        return [threadId, reply] as const;
      }),
    );
    return thoseThere(replies);
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

  async #readAll({ since, limit }: Ranges): Promise<Record<ThreadId, OutputReply>> {
    const known = entriesById(since).filter(([threadId]) => this.#options.store.threads.find(threadId));
    const share = Math.max(1_024, Math.floor(MAX_OUTPUTS_BYTES / Math.max(1, known.length)));
    const replies = await Promise.all(
      known.map(async ([threadId, position]) => {
        const range = { since: position, limit: Math.min(limit, share) };
        const reply = await this.#readOne(threadId, range).catch((error: unknown) => {
          if (!(error instanceof AppError && error.code === "range")) return ifGone(error);
          throw new AppError("range", error.message.replace(/^since/, `since.${threadId}`));
        });
        return [threadId, reply] as const;
      }),
    );
    return thoseThere(replies);
  }

  async #readOne(threadId: ThreadId, { since, limit }: Range): Promise<OutputReply> {
    const { files, threads } = this.#options;
    // The thread is read first: a log is complete before its thread says that the process has ended.
    const thread = threads.getStored(threadId);
    const { status, firstOffset, logBase } = thread;
    const isComplete = status !== "running";
    const from = Math.max(since, firstOffset);
    const slice = await readLog(files.logs.path(threadId), { since: from - logBase, limit, isComplete });
    // Meanwhile old bytes may have been given back, or the process may have begun or ended: a status and a log that
    // were not read at one moment would call a log complete that is not.
    const now = threads.getStored(threadId);
    const isOther = now.firstOffset > firstOffset || isComplete !== (now.status !== "running");
    if (isOther) return this.#readOne(threadId, { since, limit });
    const end = logBase + slice.end;
    if (since > end) {
      if (!existsSync(files.logs.path(threadId)))
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
      ...threads.statusOf(threadId),
      exitCode: thread.exitCode,
      signal: thread.signal,
      firstOffset,
      more: slice.hasMore,
      cols: thread.cols,
      rows: thread.rows,
      ...(thread.follows && { view: viewSchema.parse(thread.follows) }),
    };
  }
}

/** A thread that was removed while it was read is one that is not there; the others are answered. */
function ifGone(error: unknown): undefined {
  if (!(error instanceof AppError && error.code === "not_found")) throw error;
}

function thoseThere<T>(replies: readonly (readonly [ThreadId, T | undefined])[]): Record<ThreadId, T> {
  return Object.fromEntries(
    replies.flatMap(([threadId, reply]) => (reply === undefined ? [] : [[threadId, reply]])),
  );
}

/** A thread that waits for nothing (its process has ended for good) is never waited for. */
function isWorthAnswering(reply: OutputReply, knownStatus: string | undefined): boolean {
  if (reply.output !== "" || reply.more) return true;
  if (knownStatus !== undefined) return reply.status !== knownStatus;
  return ["exited", "killed", "lost"].includes(reply.status);
}

/** What happens this moment is told with every poll: nobody waits while an agent is at work. */
function isWorthTelling({ lines, live, status }: TranscriptReply, knownStatus: string | undefined): boolean {
  return lines !== "" || live !== null || status !== knownStatus;
}
