/** The threads that the relay serves: made, found again, polled, ended. */
import type { CreateRequest, KillReply, OutputReply, Thread, ThreadType } from "../shared/api.ts";
import { isOpen } from "../shared/api.ts";
import type { SidecarClient } from "../shared/client.ts";
import { AppError } from "../shared/errors.ts";
import { KeyedQueue, pause } from "../shared/lifecycle.ts";
import type { Log } from "../shared/log.ts";
import { type Budget, createBudget } from "./budget.ts";
import { type ChannelInfo, type DiscordApi, findRefusal, type Refusal } from "./discord-api.ts";
import { ThreadStream } from "./stream.ts";
import { errorSentence, killedText, openingText, threadName } from "./texts.ts";

export interface SessionsOptions {
  api: DiscordApi;
  client: SidecarClient;
  channelId: string;
  guildId: string;
  botId: string;
  pollIntervalMs: number;
  log: Log;
  now: () => number;
}

/** How long `/done` waits for output that is still on its way. */
const FLUSH_MS = 5_000;

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #budget: Budget = createBudget();
  readonly #streams = new Map<string, ThreadStream>();
  /** Discord threads whose session is being made or ended by us right now. */
  readonly #busy = new Set<string>();
  readonly #inputs = new KeyedQueue();
  readonly #stop = new AbortController();
  #polling: Promise<void> = Promise.resolve();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Finds everything again, then polls until closed. */
  async start(): Promise<void> {
    await this.recover();
    this.#polling = this.#poll();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#polling;
    await Promise.all([...this.#streams.values()].map((stream) => stream.close()));
  }

  has(threadId: string): boolean {
    return this.#streams.has(threadId);
  }

  /**
   * Makes a Discord thread and a session in it. Where the sidecar refuses, the Discord thread is removed again.
   * @throws AppError with the sidecar's sentence.
   */
  async create(type: ThreadType, dir: string, command: string, userId: string): Promise<string> {
    const { api, client, channelId } = this.#options;
    const { id: threadId } = await api.createThread(channelId, threadName(type, dir, command));
    this.#busy.add(threadId);
    let isCreated = false;
    try {
      const request: CreateRequest = { threadId, type, dir, command, createdBy: userId };
      await client.createThread(request);
      isCreated = true;
      await api.send(threadId, {
        content: openingText(type, dir, command, userId),
        nonce: `open-${threadId}`,
      });
      this.#add(await client.getThread(threadId));
    } catch (error) {
      if (isCreated) await this.#killQuietly(threadId);
      await this.#removeDiscordThread(threadId);
      throw error;
    } finally {
      this.#busy.delete(threadId);
    }
    await api.addThreadMember(threadId, userId).catch((error: unknown) => {
      this.#options.log.warn({ threadId, err: error }, "could not add the person to their thread");
    });
    return threadId;
  }

  /** A person's line for the process. Lines of one thread go in one after the other. */
  async type(threadId: string, text: string, messageId: string): Promise<void> {
    this.#streams.get(threadId)?.breakPage();
    await this.#inputs.run(threadId, () =>
      this.#options.client.sendInput(threadId, { text, inputId: messageId }),
    );
  }

  /**
   * Kills a session and shows what it printed last; the caller answers the person and then calls `archive`.
   * @throws AppError
   */
  async kill(threadId: string): Promise<{ reply: KillReply; archive: () => Promise<void> }> {
    this.#busy.add(threadId);
    const archive = async () => {
      await this.#drop(threadId);
      await this.#archive(threadId);
      this.#busy.delete(threadId);
    };
    try {
      const reply = await this.#options.client.killThread(threadId);
      this.#streams.get(threadId)?.silenceEnd();
      await this.#finishStream(threadId);
      return { reply, archive };
    } catch (error) {
      this.#busy.delete(threadId);
      throw error;
    }
  }

  /** As {@link kill}, told in the thread itself. */
  async killAndTell(threadId: string): Promise<KillReply> {
    const { reply, archive } = await this.kill(threadId);
    await this.#tell(threadId, killedText(reply));
    await archive();
    return reply;
  }

  /** A Discord thread was deleted: its session ends. */
  async onThreadDeleted(threadId: string): Promise<void> {
    if (!this.#streams.has(threadId)) return;
    this.#options.log.info({ threadId }, "the Discord thread was deleted; ending its session");
    await this.#drop(threadId);
    await this.#killQuietly(threadId);
  }

  /**
   * Brings Discord and the sidecar together: streams every open thread, un-archives those that need it, ends
   * those whose Discord thread is gone, and closes Discord threads of ours that the sidecar no longer has.
   */
  async recover(): Promise<void> {
    const { api, client, guildId } = this.#options;
    const threads = await client.listThreads();
    const active = new Map((await api.listActiveThreads(guildId)).map((channel) => [channel.id, channel]));
    await Promise.all(
      threads.map(async (thread) => {
        if (this.#streams.has(thread.threadId) || this.#busy.has(thread.threadId)) return;
        const channel = active.get(thread.threadId) ?? (await this.#findDiscordThread(thread.threadId));
        if (!channel) return this.#killQuietly(thread.threadId);
        if (channel.isArchived && !channel.isLocked) await api.setArchived(thread.threadId, false);
        this.#add(thread);
      }),
    );
    const open = new Set(threads.map((thread) => thread.threadId));
    const orphans = [...active.values()].filter((channel) => this.#isOurs(channel) && !open.has(channel.id));
    await Promise.all(orphans.map((channel) => this.#closeOrphan(channel.id)));
  }

  #isOurs(channel: ChannelInfo): boolean {
    const { botId, channelId } = this.#options;
    return channel.ownerId === botId && channel.parentId === channelId && !channel.isArchived;
  }

  /** Only by its id could a thread be one of another program that uses the same sidecar. */
  async #findDiscordThread(threadId: string): Promise<ChannelInfo | undefined> {
    return /^\d{17,20}$/.test(threadId) ? this.#options.api.findChannel(threadId) : undefined;
  }

  async #closeOrphan(threadId: string): Promise<void> {
    if (this.#busy.has(threadId) || this.#streams.has(threadId)) return;
    const thread = await this.#options.client.getThread(threadId).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "not_found") return undefined;
      throw error;
    });
    if (thread && isOpen(thread.status)) return; // made since the list was read
    if (thread) {
      // Ended while the relay was away: its last output and its end are still to be shown.
      this.#add(thread);
      return;
    }
    await this.#tell(threadId, "⚠️ This session does not exist on the VM any more, so its thread is closed.");
    await this.#archive(threadId);
  }

  #add(thread: Thread): void {
    const { api, client, botId, log, now } = this.#options;
    const { threadId } = thread;
    this.#streams.set(
      threadId,
      new ThreadStream({
        thread,
        api,
        client,
        budget: this.#budget,
        botId,
        log,
        now,
        onRefused: (refusal) => void this.#onRefused(threadId, refusal),
      }),
    );
  }

  async #onRefused(threadId: string, refusal: Refusal): Promise<void> {
    const { log } = this.#options;
    log.warn({ threadId, refusal }, "stopped streaming");
    try {
      await this.#drop(threadId);
      if (refusal === "unknown channel") await this.#killQuietly(threadId);
    } catch (error) {
      log.error({ threadId, err: error }, "could not let go of a thread");
    }
  }

  /** A background loop: a failed round is logged, and the next one comes. */
  async #poll(): Promise<void> {
    const { pollIntervalMs, log } = this.#options;
    const { signal } = this.#stop;
    let isAway = false;
    while (!signal.aborted) {
      const startedAt = Date.now();
      let hasMore = false;
      try {
        hasMore = await this.#readAll();
        if (isAway) log.info("the sidecar is back");
        isAway = false;
      } catch (error) {
        if (!isAway) log.warn({ err: error }, "could not read output; still trying");
        isAway = true;
      }
      if (!hasMore) await pause(Math.max(0, pollIntervalMs - (Date.now() - startedAt)), signal);
    }
  }

  /** @returns whether a thread has more to read at once. */
  async #readAll(): Promise<boolean> {
    // One that is still taking the last reply (Discord may be slow to it) holds up nobody else.
    const streams = [...this.#streams.values()].filter((stream) => !stream.isAccepting);
    if (streams.length === 0) return false;
    const since = Object.fromEntries(streams.map((stream) => [stream.threadId, stream.offset]));
    const replies = await this.#options.client.readOutputs({ since });
    for (const stream of streams) {
      const reply = replies[stream.threadId];
      if (this.#streams.get(stream.threadId) !== stream || stream.isAccepting) continue;
      this.#accept(stream, reply).catch((error: unknown) => {
        this.#options.log.warn(
          { threadId: stream.threadId, err: error },
          "could not take output; trying again",
        );
      });
    }
    await pause(0);
    return streams.some((stream) => replies[stream.threadId]?.more && !stream.isAccepting);
  }

  async #accept(stream: ThreadStream, reply: OutputReply | undefined): Promise<void> {
    const { threadId } = stream;
    if (!reply) {
      await this.#drop(threadId);
      await this.#closeOrphan(threadId);
      return;
    }
    await stream.accept(reply);
    if (isOpen(reply.status) || reply.more || this.#busy.has(threadId)) return;
    // Killed or lost without us: what it printed last and its end are shown, then the thread is closed.
    this.#busy.add(threadId);
    try {
      await stream.flush(FLUSH_MS);
      await this.#drop(threadId);
      await this.#archive(threadId);
    } finally {
      this.#busy.delete(threadId);
    }
  }

  /** Reads and shows what is left of a thread that has just ended. */
  async #finishStream(threadId: string): Promise<void> {
    const stream = this.#streams.get(threadId);
    if (!stream) return;
    for (let hasMore = true; hasMore; ) {
      while (stream.isAccepting) await pause(20);
      const reply = (await this.#options.client.readOutputs({ since: { [threadId]: stream.offset } }))[
        threadId
      ];
      if (reply) await stream.accept(reply);
      hasMore = reply?.more ?? false;
    }
    await stream.flush(FLUSH_MS);
  }

  async #drop(threadId: string): Promise<void> {
    const stream = this.#streams.get(threadId);
    this.#streams.delete(threadId);
    await stream?.close();
  }

  async #killQuietly(threadId: string): Promise<void> {
    try {
      await this.#options.client.killThread(threadId);
    } catch (error) {
      if (!(error instanceof AppError && ["thread_ended", "not_found"].includes(error.code))) throw error;
    }
  }

  async #tell(threadId: string, content: string): Promise<void> {
    try {
      await this.#options.api.send(threadId, { content });
    } catch (error) {
      if (findRefusal(error) === undefined) throw error;
      this.#options.log.warn({ threadId, err: error }, "could not tell a thread its end");
    }
  }

  async #archive(threadId: string): Promise<void> {
    try {
      await this.#options.api.setArchived(threadId, true);
    } catch (error) {
      if (findRefusal(error) === undefined) throw error;
      this.#options.log.warn({ threadId, err: error }, "could not archive a thread");
    }
  }

  async #removeDiscordThread(threadId: string): Promise<void> {
    try {
      await this.#options.api.deleteChannel(threadId);
    } catch (error) {
      // Without the right to delete, closing it is the next best.
      this.#options.log.warn({ threadId, err: error }, "could not remove a thread whose session was refused");
      await this.#tell(
        threadId,
        errorSentence(new AppError("unavailable", "This session could not be started.")),
      );
      await this.#archive(threadId);
    }
  }
}
