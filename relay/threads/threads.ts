/** The threads that the relay serves: made, polled, ended. */
import type {
  CreateRequest,
  KillReply,
  OutputReply,
  Thread,
  ThreadStatus,
  ThreadType,
} from "../../shared/api.ts";
import { isOpen } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { cleanTitle } from "../../shared/title.ts";
import { ThreadStream } from "../delivery/stream.ts";
import type { ChannelInfo, DiscordApi } from "../discord/api.ts";
import type { Budget } from "../discord/budget.ts";
import { findRefusal, type Refusal } from "../discord/refusals.ts";
import type { ThreadMaker } from "../discord/thread-maker.ts";
import { errorSentence, killedText, openingText, threadName } from "../texts.ts";

export interface SessionsOptions {
  api: DiscordApi;
  threadMaker: ThreadMaker;
  client: SidecarClient;
  budget: Budget;
  channelId: string;
  botId: string;
  isAnsi: boolean;
  pollIntervalMs: number;
  log: Log;
  now: () => number;
}

interface Session {
  stream: ThreadStream;
  type: ThreadType;
  /** The name that the sidecar has. */
  title: string;
  /** The status that the sidecar told last. */
  status: ThreadStatus;
  /** Why nothing is streamed now; undefined while all is well. */
  paused: string | undefined;
  /** There was more to read last time. */
  hasMore: boolean;
}

/** How long `/done` waits for output that is still on its way: after a flood some pages are left to send. */
const FLUSH_MS = 12_000;
/** Of that, for the messages alone. */
const MIN_FLUSH_MS = 4_000;
/** While all is quiet the sidecar holds the request so long. */
const QUIET_WAIT_MS = 20_000;
/** What one reply may hold of a thread, and of all that have much to say: it is held in memory several times. */
const READ_BYTES = 512 * 1024;
const READ_ALL_BYTES = 1024 * 1024;
const MIN_READ_BYTES = 16 * 1024;

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  /** Discord threads whose session is being made or ended by us right now. */
  readonly #busy = new Set<string>();
  readonly #stop = new AbortController();
  /** Ends the wait of the request under way, or before the next: something else is to be asked for now. */
  #interrupt = new AbortController();
  #polling: Promise<void> = Promise.resolve();
  #hasReportedForbidden = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#polling = this.#poll();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#interrupt.abort();
    await this.#polling;
    await Promise.all([...this.#sessions.values()].map(({ stream }) => stream.close()));
  }

  has(threadId: string): boolean {
    return this.#sessions.has(threadId);
  }

  isBusy(threadId: string): boolean {
    return this.#busy.has(threadId);
  }

  findType(threadId: string): ThreadType | undefined {
    return this.#sessions.get(threadId)?.type;
  }

  findStream(threadId: string): ThreadStream | undefined {
    return this.#sessions.get(threadId)?.stream;
  }

  findPause(threadId: string): string | undefined {
    return this.#sessions.get(threadId)?.paused;
  }

  /**
   * Makes a Discord thread and a session in it. Where the sidecar refuses, the Discord thread is removed again.
   * @param onWait is told how long Discord makes us wait for the thread.
   * @throws AppError with the sidecar's sentence, or Discord's.
   */
  async create(
    { type, dir, command, userId }: { type: ThreadType; dir: string; command: string; userId: string },
    onWait: (ms: number) => void,
  ): Promise<string> {
    const { api, threadMaker, client, log } = this.#options;
    const title = threadName(type, dir, command);
    const threadId = await threadMaker.make(title, onWait);
    this.#busy.add(threadId);
    let isCreated = false;
    try {
      const request: CreateRequest = { threadId, type, dir, command, title, createdBy: userId };
      await client.createThread(request);
      isCreated = true;
      const content = openingText(type, dir, command, userId);
      const { id } = await api.send(threadId, { content, nonce: `open-${threadId}` });
      this.add(await client.getThread(threadId), id);
    } catch (error) {
      if (isCreated) await this.killQuietly(threadId);
      await this.#removeDiscordThread(threadId);
      throw error;
    } finally {
      this.#busy.delete(threadId);
    }
    await api.addThreadMember(threadId, userId).catch((error: unknown) => {
      log.warn({ threadId, err: error }, "could not add the person to their thread");
    });
    return threadId;
  }

  /** Begins to stream a thread. */
  add(thread: Thread, lastMessageId: string | undefined, paused?: string): void {
    const { threadId, type, title, status } = thread;
    const onRefused = (refusal: Refusal) => {
      this.#onRefused(threadId, refusal).catch((error: unknown) => {
        this.#options.log.error({ threadId, err: error }, "could not let go of a thread");
      });
    };
    const stream = new ThreadStream({ ...this.#options, thread, lastMessageId, onRefused });
    this.#sessions.set(threadId, { stream, type, title, status, paused, hasMore: false });
    if (paused === undefined) stream.resume();
    this.#askAnew();
  }

  /**
   * Kills a session and shows what it printed last; the caller answers the person and then calls `archive`.
   * @throws AppError
   */
  async kill(threadId: string): Promise<{ reply: KillReply; archive: () => Promise<void> }> {
    this.#busy.add(threadId);
    try {
      const reply = await this.#options.client.killThread(threadId);
      this.findStream(threadId)?.silenceEnd();
      await this.#finishStream(threadId);
      return { reply, archive: () => this.#endAndArchive(threadId) };
    } catch (error) {
      this.#busy.delete(threadId);
      throw error;
    }
  }

  /** As {@link kill}, told in the thread itself. */
  async killAndTell(threadId: string): Promise<KillReply> {
    const { reply, archive } = await this.kill(threadId);
    await this.tell(threadId, killedText(reply));
    await archive();
    return reply;
  }

  /** A Discord thread was deleted: its session ends. */
  async onDiscordThreadDeleted(threadId: string): Promise<void> {
    if (!this.has(threadId)) return;
    this.#options.log.info({ threadId }, "the Discord thread was deleted; ending its session");
    await this.#drop(threadId);
    await this.killQuietly(threadId);
  }

  /** A Discord thread was archived, locked, or came back. */
  onDiscordThreadChanged(channel: ChannelInfo): void {
    const session = this.#sessions.get(channel.id);
    if (!session || this.#busy.has(channel.id)) return;
    this.noteName(channel);
    const wasPaused = session.paused !== undefined;
    session.paused = findPause(channel);
    if (session.paused !== undefined || !wasPaused) return;
    session.stream.resume();
    this.#askAnew();
  }

  /** Whoever renames a Discord thread renames it everywhere. */
  noteName({ id, name }: ChannelInfo): void {
    const session = this.#sessions.get(id);
    const title = cleanTitle(name ?? "");
    if (!session || title === "" || title === session.title) return;
    session.title = title;
    this.#options.client.setTitle(id, title).catch((error: unknown) => {
      this.#options.log.warn({ threadId: id, err: error }, "could not pass on a thread's new name");
    });
  }

  /** Says something in a thread, where it can still be written to. */
  async tell(threadId: string, content: string): Promise<void> {
    await this.#whereAllowed(
      threadId,
      "tell a thread its end",
      this.#options.api.send(threadId, { content }),
    );
  }

  async archive(threadId: string): Promise<void> {
    await this.#whereAllowed(threadId, "archive a thread", this.#options.api.setArchived(threadId, true));
  }

  /** Where it is over already, that is as well. */
  async killQuietly(threadId: string): Promise<void> {
    try {
      await this.#options.client.killThread(threadId);
    } catch (error) {
      if (!(error instanceof AppError && ["thread_ended", "not_found"].includes(error.code))) throw error;
    }
  }

  /** A background loop: a failed round is logged, and the next one comes. */
  async #poll(): Promise<void> {
    const { pollIntervalMs, log } = this.#options;
    const { signal } = this.#stop;
    let isAway = false;
    while (!signal.aborted) {
      const startedAt = performance.now();
      let hasMore = false;
      try {
        hasMore = await this.#readAll();
        if (isAway) log.info("the sidecar is back");
        isAway = false;
      } catch (error) {
        if (!isAway) log.warn({ err: error }, "could not read output; still trying");
        isAway = true;
      }
      const spentMs = performance.now() - startedAt;
      const wake = AbortSignal.any([signal, this.#interrupt.signal]);
      await pause(hasMore ? 0 : Math.max(0, pollIntervalMs - spentMs), wake);
    }
  }

  /** @returns whether a thread has more to read at once. */
  async #readAll(): Promise<boolean> {
    this.#interrupt = new AbortController();
    // One that is still taking the last reply (Discord may be slow to it) holds up nobody else.
    const sessions = [...this.#sessions.values()].filter(
      ({ stream, paused }) => !stream.isAccepting && !paused,
    );
    if (sessions.length === 0) return false;
    const isOneAbsent = sessions.length < this.#sessions.size;
    const floods = sessions.filter((session) => session.hasMore).length;
    const share = Math.floor(READ_ALL_BYTES / Math.max(1, floods));
    const { signal } = this.#interrupt;
    const reading = this.#options.client.readOutputs(
      {
        since: Object.fromEntries(sessions.map(({ stream }) => [stream.threadId, stream.offset])),
        status: Object.fromEntries(sessions.map(({ stream, status }) => [stream.threadId, status])),
        limit: Math.max(MIN_READ_BYTES, Math.min(READ_BYTES, share)),
        waitMs: isOneAbsent ? 0 : QUIET_WAIT_MS,
      },
      signal,
    );
    const replies = await reading.catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    if (!replies) return true;
    let hasMore = false;
    for (const session of sessions) {
      const { stream } = session;
      const reply = replies[stream.threadId];
      // What changed while the reply was on its way.
      if (this.#sessions.get(stream.threadId) !== session || stream.isAccepting || session.paused) continue;
      session.hasMore = reply?.more ?? false;
      hasMore ||= session.hasMore;
      this.#accept(session, reply).catch((error: unknown) => {
        this.#options.log.warn(
          { threadId: stream.threadId, err: error },
          "could not take output; trying again",
        );
      });
    }
    return hasMore;
  }

  #askAnew(): void {
    this.#interrupt.abort();
  }

  async #accept(session: Session, reply: OutputReply | undefined): Promise<void> {
    const { stream } = session;
    const { threadId } = stream;
    if (!reply) {
      if (this.#busy.has(threadId)) return;
      await this.#drop(threadId);
      await this.tell(threadId, "⚠️ This session does not exist on the VM any more, so its thread is closed.");
      await this.archive(threadId);
      return;
    }
    await stream.accept(reply);
    session.status = reply.status;
    if (reply.more) this.#askAnew();
    if (isOpen(reply.status) || reply.more || this.#busy.has(threadId)) return;
    // Killed or lost without us: what it printed last and its end are shown, then the thread is closed.
    this.#busy.add(threadId);
    await stream.flush(FLUSH_MS);
    await this.#endAndArchive(threadId);
  }

  /** Reads and shows what is left of a thread that has just ended. */
  async #finishStream(threadId: string): Promise<void> {
    const stream = this.findStream(threadId);
    if (!stream) return;
    const untilMs = performance.now() + FLUSH_MS;
    // What is slow to take or without end is not waited for: the log has it, and the session is over.
    for (let hasMore = true; hasMore && performance.now() < untilMs; ) {
      while (stream.isAccepting && performance.now() < untilMs) await pause(20);
      const since = { [threadId]: stream.offset };
      const reply = (await this.#options.client.readOutputs({ since, limit: READ_BYTES }))[threadId];
      if (reply && !stream.isAccepting) await stream.accept(reply);
      hasMore = reply?.more ?? false;
    }
    await stream.flush(Math.max(MIN_FLUSH_MS, untilMs - performance.now()));
  }

  async #endAndArchive(threadId: string): Promise<void> {
    try {
      await this.#drop(threadId);
      await this.archive(threadId);
    } finally {
      this.#busy.delete(threadId);
    }
  }

  async #drop(threadId: string): Promise<void> {
    const session = this.#sessions.get(threadId);
    this.#sessions.delete(threadId);
    await session?.stream.close();
  }

  async #onRefused(threadId: string, refusal: Refusal): Promise<void> {
    const { api, log, channelId } = this.#options;
    const session = this.#sessions.get(threadId);
    if (!session) return;
    log.warn({ threadId, refusal }, "a Discord thread takes nothing");
    switch (refusal) {
      case "unknown channel":
        return this.onDiscordThreadDeleted(threadId);
      case "archived":
      case "locked":
        session.paused = `the thread is ${refusal}`;
        return;
      case "forbidden":
        session.paused = "the bot may not write there";
        if (this.#hasReportedForbidden) return;
        this.#hasReportedForbidden = true;
        await this.#whereAllowed(
          channelId,
          "report lost permissions",
          api.send(channelId, {
            content: `⚠️ I may not write in <#${threadId}> any more, so nothing is shown there. Give me back View Channel, Send Messages in Threads and Read Message History, then restart the relay.`,
          }),
        );
        return;
      case "unknown message":
        return; // the stream deals with these itself
      default:
        refusal satisfies never;
    }
  }

  async #whereAllowed(threadId: string, what: string, work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (findRefusal(error) === undefined) throw error;
      this.#options.log.warn({ threadId, err: error }, `could not ${what}`);
    }
  }

  async #removeDiscordThread(threadId: string): Promise<void> {
    try {
      await this.#options.api.deleteChannel(threadId);
    } catch (error) {
      // Without the right to delete, closing it is the next best.
      this.#options.log.warn({ threadId, err: error }, "could not remove a thread whose session was refused");
      await this.tell(
        threadId,
        errorSentence(new AppError("unavailable", "This session could not be started.")),
      );
      await this.archive(threadId);
    }
  }
}

/** Why a thread is not streamed; undefined where it can be, also by bringing it back. */
export function findPause(channel: ChannelInfo): string | undefined {
  if (channel.isLocked) return "the thread is locked";
  return channel.isArchivedByPerson ? "the thread was archived by hand" : undefined;
}
