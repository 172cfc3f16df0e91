/**
 * The index as the sidecar asks it. It works in a thread of its own, which begins with the first search; one that does not
 * answer in time is ended, and the next search begins another.
 */
import { Worker } from "node:worker_threads";
import { AppError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { IndexerData, SearchDone, SearchOrder } from "./indexer/protocol.ts";

const DEADLINE_MS = 5_000;
/** At once. */
const MAX_WAITING = 20;
/** The index's thread ends after this time without a search. */
const IDLE_MS = 10 * 60_000;

type Found = Exclude<SearchDone, { error: string }>;

interface Waiting {
  done: (found: Found) => void;
  failed: (error: AppError) => void;
  timer: NodeJS.Timeout;
}

export interface MemoryIndexOptions extends IndexerData {
  /** The thread's script. */
  indexer: string;
  log: Log;
  deadlineMs?: number;
}

export class MemoryIndex {
  readonly #options: MemoryIndexOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #lastId = 0;
  #isChanged = false;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: MemoryIndexOptions) {
    this.#options = options;
  }

  /** @throws AppError `rate_limited`; `unavailable` if it takes too long */
  search(order: Omit<SearchOrder, "id" | "isChanged">): Promise<Found> {
    if (this.#waiting.size >= MAX_WAITING)
      throw new AppError("rate_limited", `${MAX_WAITING} searches are under way; wait.`);
    const worker = this.#started();
    const id = ++this.#lastId;
    const { deadlineMs = DEADLINE_MS } = this.#options;
    return new Promise<Found>((done, failed) => {
      const timer = setTimeout(
        () => this.#end("The search took too long; ask for a rarer word."),
        deadlineMs,
      );
      this.#waiting.set(id, { done, failed, timer });
      worker.postMessage({ ...order, id, isChanged: this.#isChanged } satisfies SearchOrder);
      this.#isChanged = false;
    });
  }

  /** A memory was written to: the next search finds it as it is now. */
  noteChange(): void {
    this.#isChanged = true;
  }

  async close(): Promise<void> {
    await this.#end("The sidecar is ending.");
  }

  #started(): Worker {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#end("The index is at rest."), IDLE_MS).unref();
    if (this.#worker) return this.#worker;
    const { indexer, stateDir, file, log } = this.#options;
    const workerData: IndexerData = { stateDir, file };
    const worker = new Worker(indexer, {
      workerData,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    worker.unref();
    worker.on("message", (done: SearchDone) => this.#take(done));
    worker.on("error", (error) => {
      log.error({ err: error }, "the index of memories failed");
      if (this.#worker === worker) void this.#end("The search failed; try again.");
    });
    this.#worker = worker;
    return worker;
  }

  #take(done: SearchDone): void {
    const waiting = this.#waiting.get(done.id);
    if (!waiting) return;
    this.#waiting.delete(done.id);
    clearTimeout(waiting.timer);
    if ("error" in done) {
      this.#options.log.error({ error: done.error }, "a search in memories failed");
      waiting.failed(new AppError("unavailable", "The search failed; try again."));
    } else waiting.done(done);
  }

  /** All that wait for it are told why. */
  async #end(why: string): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    clearTimeout(this.#idle);
    for (const { failed, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      failed(new AppError("unavailable", why));
    }
    this.#waiting.clear();
    await worker?.terminate();
  }
}
