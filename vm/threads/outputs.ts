/** Reading output with patience: answers the moment there is something, or the status is another. */
import type { z } from "zod";
import type { OutputReply, outputQuerySchema, outputsRequestSchema } from "../../shared/api.ts";
import type { LogWatch } from "../streams/log-watch.ts";
import type { Threads } from "./threads.ts";

export class Outputs {
  readonly #threads: Threads;
  readonly #logWatch: LogWatch;

  readonly #onRead: (seconds: number) => void;

  /** @param onRead is told how long each look into the logs took, without any waiting. */
  constructor(threads: Threads, logWatch: LogWatch, onRead: (seconds: number) => void = () => undefined) {
    this.#threads = threads;
    this.#logWatch = logWatch;
    this.#onRead = onRead;
  }

  /**
   * @param signal fires when nobody waits for the answer any more.
   * @throws AppError `not_found`, `range`
   */
  async read(
    threadId: string,
    query: z.output<typeof outputQuerySchema>,
    signal: AbortSignal,
  ): Promise<OutputReply> {
    const { waitMs, status, ...from } = query;
    const isNews = (reply: OutputReply) => isWorthAnswering(reply, status);
    return this.#untilNews(
      [threadId],
      waitMs,
      signal,
      () => this.#threads.readOutput(threadId, from),
      isNews,
    );
  }

  /** @throws AppError `range` */
  async readMany(
    { waitMs, status, ...request }: z.output<typeof outputsRequestSchema>,
    signal: AbortSignal,
  ): Promise<Record<string, OutputReply>> {
    const threadIds = Object.keys(request.since);
    const isNews = (replies: Record<string, OutputReply>) =>
      threadIds.some((threadId) => {
        const reply = replies[threadId];
        return reply === undefined || isWorthAnswering(reply, status?.[threadId]);
      });
    return this.#untilNews(threadIds, waitMs, signal, () => this.#threads.readOutputs(request), isNews);
  }

  async #untilNews<T>(
    threadIds: string[],
    waitMs: number,
    signal: AbortSignal,
    read: () => Promise<T>,
    isNews: (value: T) => boolean,
  ): Promise<T> {
    const deadline = performance.now() + waitMs;
    const listener = this.#logWatch.listen(threadIds);
    try {
      for (;;) {
        const startedAt = performance.now();
        const value = await read();
        this.#onRead((performance.now() - startedAt) / 1_000);
        const leftMs = deadline - performance.now();
        if (leftMs <= 0 || isNews(value) || signal.aborted || this.#logWatch.isClosed) return value;
        await listener.wait(leftMs, signal);
      }
    } finally {
      listener.end();
    }
  }
}

/** A thread that waits for nothing (its process has ended for good) is never waited for. */
function isWorthAnswering(reply: OutputReply, knownStatus: string | undefined): boolean {
  if (reply.output !== "" || reply.more) return true;
  if (knownStatus !== undefined) return reply.status !== knownStatus;
  return reply.status !== "running" && reply.status !== "idle";
}
