/**
 * An agent thread's news, kept coming: it goes on by itself, at the byte where it was, however often the sidecar
 * dies.
 */
import type { TranscriptReply } from "../../../../shared/agent/api.ts";
import type { ThreadEvent } from "../../../../shared/agent/events.ts";
import { ApiError, readTranscript } from "../api.ts";
import type { ConnectionState } from "../connection.ts";
import { BLOCK_BYTES, type Transcript } from "./transcript.ts";

const WAIT_MS = 20_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 10_000;

export type News = Pick<TranscriptReply, "status" | "problem" | "live"> & {
  events: readonly ThreadEvent[];
  /** All that was written before has been read. */
  isCurrent: boolean;
};

export interface FeedOptions {
  threadId: string;
  transcript: Transcript;
  onNews: (news: News) => void;
  onState: (state: ConnectionState) => void;
}

export class Feed {
  readonly #options: FeedOptions;
  #request: AbortController | undefined;
  #wake: (() => void) | undefined;
  #retryMs = FIRST_RETRY_MS;
  #isPlaced = false;
  #known: { status?: string; live?: string } = {};
  #isClosed = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    window.addEventListener("online", this.retryNow);
    document.addEventListener("visibilitychange", this.#onVisible);
    void this.#run();
  }

  close(): void {
    this.#isClosed = true;
    window.removeEventListener("online", this.retryNow);
    document.removeEventListener("visibilitychange", this.#onVisible);
    this.#request?.abort();
    this.#wake?.();
  }

  readonly retryNow = (): void => this.#wake?.();

  readonly #onVisible = (): void => {
    if (document.visibilityState === "visible") this.retryNow();
  };

  async #run(): Promise<void> {
    this.#options.onState({ kind: "connecting" });
    while (!this.#isClosed) {
      try {
        if (document.visibilityState === "hidden") await this.#sleep(Number.POSITIVE_INFINITY);
        const news = await this.#read();
        this.#retryMs = FIRST_RETRY_MS;
        if (this.#isClosed) return;
        this.#options.onState({ kind: "open" });
        this.#options.onNews(news);
        if (news.status === "killed" && news.isCurrent) return; // nothing more will come
      } catch (error) {
        if (this.#isClosed) return;
        if (!(await this.#recover(error))) return;
      }
    }
  }

  async #read(): Promise<News> {
    const { threadId, transcript } = this.#options;
    this.#request = new AbortController();
    const { signal } = this.#request;
    if (!this.#isPlaced) {
      const { end } = await readTranscript(threadId, { since: 0, limit: 1 }, signal);
      transcript.begin(Math.max(0, end - BLOCK_BYTES));
      this.#isPlaced = true;
    }
    const since = transcript.newsSince;
    const reply = await readTranscript(
      threadId,
      { since, limit: BLOCK_BYTES, waitMs: WAIT_MS, ...this.#known },
      signal,
    );
    const { lines, offset, status, problem, live, more } = reply;
    const events = transcript.append(lines, offset);
    // What is behind the next part is no news before that part is read.
    this.#known = more ? {} : { status, live: live?.updatedAt ?? "none" };
    return { events, status, problem, live, isCurrent: !more };
  }

  /** @returns whether it is worth going on. */
  async #recover(error: unknown): Promise<boolean> {
    const { onState } = this.#options;
    const status = error instanceof ApiError ? error.status : 0;
    if (status === 401) {
      onState({ kind: "signed out" });
      return false;
    }
    if (status === 404 || status === 410) {
      onState({ kind: "over", text: error instanceof Error ? error.message : "The thread is gone." });
      return false;
    }
    // Shorter than it was: it was made anew, and is read anew.
    if (status === 416) this.#isPlaced = false;
    const waitMs = this.#retryMs * (0.8 + 0.4 * Math.random());
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
    const reason = error instanceof Error ? error.message : String(error);
    onState({ kind: "waiting", retryAt: Date.now() + waitMs, reason });
    this.#known = {};
    await this.#sleep(waitMs);
    return !this.#isClosed;
  }

  async #sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = Number.isFinite(ms) ? window.setTimeout(resolve, ms) : undefined;
      this.#wake = () => {
        window.clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
