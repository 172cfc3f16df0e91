/** How threads end: killed by a person, gone with their Discord thread, or ended without us. */
import type { KillReply } from "../../shared/api.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import { KeyedQueue, pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { WorktreeReply } from "../../shared/worktree-api.ts";
import { killedText } from "../content/texts.ts";
import type { DiscordApi } from "../discord/api.ts";
import { findRefusal } from "../discord/refusals.ts";
import type { LiveThread } from "../kinds/kind.ts";
import type { Vm } from "../sidecar/vm.ts";
import type { Threads } from "./threads.ts";
import { untilItWorks } from "./until-it-works.ts";

/** How long `/done` waits for output that is still on its way: after a flood some pages are left to send. */
const FLUSH_MS = 12_000;
/** The part of that time which is for the messages alone. */
const MIN_FLUSH_MS = 4_000;
const READ_BYTES = 512 * 1024;
const VANISHED = "⚠️ The VM does not know this thread any more, so it is closed.";

export interface EndingsOptions {
  vm: Vm;
  threads: Threads;
  api: DiscordApi;
  signal: AbortSignal;
  log: Log;
}

export class Endings {
  readonly #options: EndingsOptions;
  readonly #queue = new KeyedQueue();

  constructor(options: EndingsOptions) {
    this.#options = options;
    options.threads.onDeleted((threadId) => this.onDiscordThreadDeleted(threadId));
  }

  /**
   * Kills a thread, shows what it printed last, and archives it. Of two who kill the same thread the second is told
   * that it is over.
   * @param userId who asked for it
   * @param tell gives the text of the end to whoever asked for it. It comes before the thread is archived, because
   * Discord takes no answer there after that. The thread is archived whether or not the answer gets through.
   * @throws AppError, or what `tell` rejects with
   */
  kill(threadId: DiscordId, userId: string, tell: (text: string) => Promise<unknown>): Promise<KillReply> {
    return this.#queue.run(threadId, () => this.#kill(threadId, userId, tell));
  }

  async #kill(
    threadId: DiscordId,
    userId: string,
    tell: (text: string) => Promise<unknown>,
  ): Promise<KillReply> {
    const { vm, threads } = this.#options;
    const thread = threads.find(threadId);
    threads.setBusy(threadId, true);
    // Before the sidecar kills it: the poller may read of the end sooner than the answer is here.
    thread?.setEndSilent(true);
    try {
      const reply = await vm
        .as(userId)
        .thread(threadId)
        .kill()
        .catch((error: unknown) => {
          thread?.setEndSilent(false);
          throw error;
        });
      if (thread) await this.#finish(thread);
      try {
        await tell(killedText(reply, thread?.kind ?? { type: "terminal" }, await this.#findWorktree(thread)));
      } finally {
        await this.#dropAndArchive(threadId);
      }
      return reply;
    } finally {
      threads.setBusy(threadId, false);
    }
  }

  /** What an ended agent leaves behind; undefined if that can't be said now. */
  async #findWorktree(thread: LiveThread | undefined): Promise<WorktreeReply | undefined> {
    if (!thread || !kindOf(thread.kind).hasTurns) return undefined;
    const { vm, log } = this.#options;
    try {
      return await vm.thread(thread.threadId).getWorktree();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code !== "not_found")
        log.warn({ threadId: thread.threadId, err: error }, "could not look at a worktree");
      return undefined;
    }
  }

  /** As {@link kill}, told in the thread itself. */
  killAndTell(threadId: DiscordId, userId: string): Promise<KillReply> {
    const delivery = this.#options.threads.find(threadId)?.delivery;
    return this.kill(threadId, userId, async (text) => {
      const told = delivery?.say("killed", { text, buttons: [] }) ?? Promise.resolve();
      await this.#whereAllowed(threadId, "tell a thread its end", told);
    });
  }

  /** If it is over already, that is as well. */
  async killQuietly(threadId: DiscordId): Promise<void> {
    try {
      await this.#options.vm.thread(threadId).kill();
    } catch (error) {
      if (!(error instanceof AppError && ["thread_ended", "not_found"].includes(error.code))) throw error;
    }
  }

  /** A Discord thread was deleted: its process ends, once the sidecar answers. */
  async onDiscordThreadDeleted(threadId: DiscordId): Promise<void> {
    const { threads, signal, log } = this.#options;
    if (!threads.find(threadId)) return;
    log.info({ threadId }, "the Discord thread was deleted; ending what runs in it");
    await threads.drop(threadId);
    const what = "end a thread whose Discord thread was deleted";
    const findProblem = (error: unknown) =>
      error instanceof AppError && error.code === "unavailable" ? undefined : errorText(error);
    await untilItWorks({ what, log, signal, findProblem }, () => this.killQuietly(threadId));
  }

  /** The sidecar has no such thread, so there is no ledger to keep either: nobody will look for this message. */
  async closeVanished(threadId: DiscordId): Promise<void> {
    const { threads, api } = this.#options;
    await threads.drop(threadId);
    await this.#whereAllowed(threadId, "tell a thread its end", api.send(threadId, { content: VANISHED }));
    await this.archive(threadId);
  }

  /** A thread that ended without us, and has been read to its end: what is left of it is shown. */
  async showAndArchive(thread: LiveThread): Promise<void> {
    await this.#letGo(thread, () => thread.delivery.flush(FLUSH_MS));
  }

  /**
   * Resolves once a thread that is over has shown its end and is archived: from then on its ledger is nobody's.
   * @throws AppError
   */
  async untilLetGo(threadId: DiscordId): Promise<void> {
    const thread = this.#options.threads.find(threadId);
    if (thread) await this.#letGo(thread, () => this.#finish(thread));
    // Somebody else may be at it.
    else await this.#queue.run(threadId, () => Promise.resolve());
  }

  #letGo(thread: LiveThread, finish: () => Promise<void>): Promise<void> {
    const { threads } = this.#options;
    const { threadId } = thread;
    threads.setBusy(threadId, true);
    return this.#queue.run(threadId, async () => {
      try {
        // If two let go of the same thread, the second one has nothing to do.
        if (threads.find(threadId) !== thread) return;
        threads.setBusy(threadId, true);
        await finish();
        await this.#dropAndArchive(threadId);
      } finally {
        threads.setBusy(threadId, false);
      }
    });
  }

  async archive(threadId: DiscordId): Promise<void> {
    const archiving = this.#options.api.setArchived(threadId, true);
    await this.#whereAllowed(threadId, "archive a thread", archiving);
  }

  /** Reads and shows what is left of a thread that has just ended. */
  async #finish(thread: LiveThread): Promise<void> {
    const { vm, delivery, source } = thread;
    const untilMs = performance.now() + FLUSH_MS;
    // What is slow to take or without end is not waited for: the log has it, and the thread is over.
    for (let hasMore = true; hasMore && performance.now() < untilMs; ) {
      while (delivery.isAccepting && performance.now() < untilMs) await pause(20);
      const { offset } = delivery;
      const replies = await vm.read(source, offset, READ_BYTES);
      const news = thread.find(replies);
      if (!news) break; // the sidecar does not know it any more
      hasMore = !(await thread.accept(replies, offset)) || news.more;
    }
    await delivery.flush(Math.max(MIN_FLUSH_MS, untilMs - performance.now()));
  }

  async #dropAndArchive(threadId: DiscordId): Promise<void> {
    const { threads } = this.#options;
    try {
      await threads.drop(threadId);
      await this.archive(threadId);
    } finally {
      threads.setBusy(threadId, false);
    }
  }

  async #whereAllowed(threadId: DiscordId, what: string, work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (findRefusal(error) === undefined) throw error;
      this.#options.log.warn({ threadId, err: error }, `could not ${what}`);
    }
  }
}
