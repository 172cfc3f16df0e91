/** Reads what the threads print, all of them in one request that waits for news. */
import { isOpen, type OutputsReply } from "../../shared/api.ts";
import { kindOf } from "../../shared/kinds.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { LiveThread } from "../kinds/kind.ts";
import type { Source, Vm } from "../sidecar/vm.ts";
import type { Channels } from "./channels.ts";
import type { Endings } from "./endings.ts";
import type { Homes } from "./homes.ts";
import type { Speaker } from "./speaker.ts";
import type { Threads } from "./threads.ts";

export interface PollerOptions {
  vm: Pick<Vm, "readThreads">;
  threads: Pick<Threads, "list" | "find" | "isBusy" | "onChanged" | "noteTitle">;
  endings: Pick<Endings, "closeVanished" | "showAndArchive">;
  pollIntervalMs: number;
  channels: Pick<Channels, "poke" | "state">;
  speaker: Pick<Speaker, "state" | "poke">;
  homes: Pick<Homes, "known" | "note">;
  /** The channels, or their settings, are others: resolves once those count. */
  refreshChannels: () => Promise<void>;
  /** The sidecar was away, and may have lost what it was told at the start. */
  onBack: () => Promise<void>;
  log: Log;
}

/** While all is quiet the sidecar holds the request so long. */
const QUIET_WAIT_MS = 20_000;
/** What one reply may hold of a thread, and of all that have much to say: it is held in memory several times. */
const READ_BYTES = 512 * 1024;
const READ_ALL_BYTES = 1024 * 1024;
/** So much at once may be the start of a flood: soon it is known whether it is. */
const LUMP_UNITS = 4_096;
const LUMP_WAIT_MS = 100;
const MIN_READ_BYTES = 16 * 1024;

export class Poller {
  readonly #options: PollerOptions;
  readonly #stop = new AbortController();
  /** Ends the wait for news, in the request under way or before the next: something else is to be asked for now. */
  #interrupt = new AbortController();
  #polling: Promise<void> = Promise.resolve();
  #isRefreshing = false;
  /** Not asked for in the last round: they were still taking the reply before. */
  #leftOut: ReadonlySet<LiveThread> = new Set();

  constructor(options: PollerOptions) {
    this.#options = options;
    options.threads.onChanged(() => this.#askAnew());
  }

  start(): void {
    this.#polling = this.#poll();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#interrupt.abort();
    await this.#polling;
  }

  /** A background loop: a failed round is logged, and the next one comes. */
  async #poll(): Promise<void> {
    const { pollIntervalMs, threads, onBack, log } = this.#options;
    const { signal } = this.#stop;
    let isAway = false;
    while (!signal.aborted) {
      const startedAt = performance.now();
      let waitMs: number | undefined;
      try {
        waitMs = await this.#readAll();
        if (isAway) {
          log.info("the sidecar is back");
          await onBack();
        }
        isAway = false;
      } catch (error) {
        if (!isAway) log.warn({ err: error }, "could not read output; still trying");
        isAway = true;
      }
      const spentMs = performance.now() - startedAt;
      const intervalMs = readInterval(pollIntervalMs, threads.list());
      await pause(waitMs ?? Math.max(0, intervalMs - spentMs), signal, this.#interrupt.signal);
    }
  }

  /** @returns how long to wait before the next read; undefined: as usual. */
  async #readAll(): Promise<number | undefined> {
    this.#interrupt = new AbortController();
    const { vm, threads, homes, channels, speaker, log } = this.#options;
    // One that is still taking the last reply (Discord may be slow to it) holds up nobody else.
    const all = threads.list();
    const asked = all.filter(isFree);
    const offsets = new Map(asked.map(({ threadId, delivery }) => [threadId, delivery.offset]));
    this.#leftOut = new Set(all.filter((thread) => !isFree(thread)));
    const floods = asked.filter(({ hasMore }) => hasMore).length;
    const share = Math.floor(READ_ALL_BYTES / Math.max(1, floods));
    // A request that waits for no news is answered at once, and is never interrupted: with a hundred threads that all
    // have more to say somebody wants to ask anew at every moment, and no answer would ever arrive.
    const waitForNewsMs = asked.length < all.length ? 0 : QUIET_WAIT_MS;
    const { signal } = waitForNewsMs > 0 ? this.#interrupt : this.#stop;
    const reading = vm.readThreads(
      {
        since: offsetsOf(asked, "since"),
        transcripts: offsetsOf(asked, "transcripts"),
        status: Object.fromEntries(asked.map(({ threadId, status }) => [threadId, status])),
        homeless: homes.known,
        channels: channels.state,
        spoken: speaker.state,
        limit: Math.max(MIN_READ_BYTES, Math.min(READ_BYTES, share)),
        waitMs: waitForNewsMs,
      },
      signal,
    );
    const replies = await reading.catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    if (!replies) return 0;
    homes.note(replies.homeless ?? []);
    if (replies.channels !== undefined && replies.channels !== channels.state) this.#refreshChannels();
    if (replies.spoken !== undefined && replies.spoken !== speaker.state) speaker.poke();
    let waitMs: number | undefined;
    for (const thread of asked) {
      const { threadId } = thread;
      // What changed while the reply was on its way.
      if (threads.find(threadId) !== thread || !isFree(thread)) continue;
      thread.hasMore = thread.find(replies)?.more ?? false;
      if (thread.hasMore) waitMs = 0;
      else if ((replies.threads[threadId]?.output.length ?? 0) > LUMP_UNITS) waitMs ??= LUMP_WAIT_MS;
      this.#accept(thread, replies, offsets.get(threadId) ?? 0).catch((error: unknown) => {
        log.warn({ threadId, err: error }, "could not take output; trying again");
      });
    }
    return waitMs;
  }

  async #accept(thread: LiveThread, replies: OutputsReply, offset: number): Promise<void> {
    const { threads, endings } = this.#options;
    const { threadId } = thread;
    const news = thread.find(replies);
    if (!news) {
      if (!threads.isBusy(threadId)) await endings.closeVanished(threadId);
      return;
    }
    if (!(await thread.accept(replies, offset))) return;
    const isNews = news.status !== thread.status || thread.delivery.offset !== offset;
    if (isNews && kindOf(thread.kind).hasTurns) this.#options.channels.poke();
    thread.status = news.status;
    if (news.title !== undefined) threads.noteTitle(thread, news.title);
    // Not a round later: a flood that is not looked at seems to be over.
    if (news.more || this.#leftOut.has(thread)) this.#askAnew();
    if (isOpen(news.status) || news.more || threads.isBusy(threadId)) return;
    // Killed or lost without us: what it printed last and its end are shown, then the thread is closed.
    await endings.showAndArchive(thread);
  }

  /** In the background; what comes meanwhile is told by the next reply. */
  #refreshChannels(): void {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    const { refreshChannels, log } = this.#options;
    refreshChannels()
      .catch((error: unknown) => log.warn({ err: error }, "could not read the channels; trying again"))
      .finally(() => {
        this.#isRefreshing = false;
      });
  }

  #askAnew(): void {
    this.#interrupt.abort();
  }
}

/** How long from one read to the next, in milliseconds: a kind may want its threads read more often while they work. */
export function readInterval(
  pollIntervalMs: number,
  threads: readonly Pick<LiveThread, "kind" | "status" | "paused">[],
): number {
  const atWork = threads.filter(({ status, paused }) => status === "running" && paused === undefined);
  return Math.min(pollIntervalMs, ...atWork.map(({ kind }) => kind.readMs));
}

function offsetsOf(threads: readonly LiveThread[], source: Source): Record<string, number> {
  const ofSource = threads.filter((thread) => thread.source === source);
  return Object.fromEntries(ofSource.map(({ threadId, delivery }) => [threadId, delivery.offset]));
}

function isFree({ delivery, paused }: LiveThread): boolean {
  return !delivery.isAccepting && paused === undefined;
}
