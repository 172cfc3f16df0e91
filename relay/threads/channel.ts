/**
 * What the bot keeps in a channel, through a ledger and a pump as a thread's messages: what needs people, and how
 * the threads stand that messages of the channel began.
 */
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { type DiscordId, knownThreadId, type ThreadName } from "../../shared/ids.ts";
import type { JobNews } from "../../shared/jobs/news.ts";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { job as jobAction } from "../actions/job.ts";
import { ChannelContent, type ChannelNews, type ChannelThread } from "../content/channel-content.ts";
import { newsText } from "../content/lists/jobs.ts";
import { POST } from "../delivery/ledger.ts";
import type { Post } from "../delivery/outgoing.ts";
import { ThreadDelivery } from "../delivery/thread-delivery.ts";
import type { DiscordApi } from "../discord/api.ts";
import type { Budget } from "../discord/budget.ts";
import type { Thread } from "../sidecar/names.ts";
import type { Vm } from "../sidecar/vm.ts";
import type { Access } from "./access.ts";
import { ChannelRows } from "./channel-rows.ts";
import { listTurnEnds } from "./turn-ends.ts";
import { untilItWorks } from "./until-it-works.ts";

/** The most messages for which the relay remembers the message that they stand below. */
const MAX_SAID = 200;
/** So often at most it is looked at anew, so no message is edited more often. */
const MIN_INTERVAL_MS = 3_000;
/** So often it is looked at if no thread tells of news: threads of the API, and ends that grow old. */
const MAX_INTERVAL_MS = 15_000;

/** The most news of jobs that are told one by one after the relay was away; the oldest become one line. */
const MAX_NEWS = 5;
/** In the ledger, the name of a piece of news begins so. */
const NEWS = "job.";

export interface ChannelOptions {
  vm: Vm;
  api: DiscordApi;
  budget: Budget;
  botId: string;
  channelId: DiscordId;
  /** Whether what is in that channel, or in none that is known, is told here. */
  isMine: (channelId: DiscordId | undefined) => boolean;
  access: Pick<Access, "may">;
  log: Log;
  now: () => number;
  waitScale?: number;
}

interface Opened {
  readonly delivery: ThreadDelivery<ChannelNews>;
  readonly content: ChannelContent;
}

export class Channel {
  readonly #options: ChannelOptions;
  readonly #rows: ChannelRows;
  /** The state that the channel was told of each thread. */
  readonly #toldOf = new Map<ThreadName, string>();
  /** Discord's id of the last message of each key. */
  readonly #said = new Map<string, string>();
  /** The ledger's keys of news of jobs whose message was begun: it may have been sent without a note. */
  readonly #begunNews = new Set<string>();
  /** Threads of which the channel has been told the end. */
  readonly #over = new Set<DiscordId>();
  readonly #stop = new AbortController();
  /** The ledger is read once the sidecar answers. */
  readonly #opening: Promise<Opened | undefined>;
  /** Ends the wait for news. */
  #news = new AbortController();
  #work: Promise<void> = Promise.resolve();

  constructor(options: ChannelOptions) {
    this.#options = { ...options, log: options.log.child({ channelId: options.channelId }) };
    this.#rows = new ChannelRows(options.vm, options.channelId);
    this.#opening = this.#open();
  }

  /** Resolves with what is known of the channel's messages; undefined if it is closed before the sidecar answers. */
  async rows(): Promise<ChannelRows | undefined> {
    return (await this.#opening) && this.#rows;
  }

  /** From now on the channel tells how this thread stands, which a message of the channel began. */
  async begin(threadId: DiscordId): Promise<void> {
    await this.#rows.noteBegan(threadId);
    this.poke();
  }

  start(): void {
    this.#work = this.#run();
  }

  /** Something has happened in a thread: it may need somebody, or not any more. */
  poke(): void {
    this.#news.abort();
  }

  /** Says something in the channel, once for each name. @throws what Discord refuses with */
  async say(name: string, post: Pick<Post, "text"> & Partial<Post>): Promise<void> {
    await (await this.#opening)?.delivery.say(name, { buttons: [], ...post });
  }

  /** Discord's id of what was said under a name; undefined if it was not, or is forgotten. */
  async findSaid(name: string): Promise<string | undefined> {
    await this.#opening;
    return this.#said.get(POST + name);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    // First the delivery: the work may wait for what it is to say.
    await (await this.#opening)?.delivery.close();
    await this.#work;
  }

  /** Undefined if it is closed before the sidecar answers. */
  async #open(): Promise<Opened | undefined> {
    const { vm, channelId, log } = this.#options;
    const { signal } = this.#stop;
    const what = "read its channel's ledger";
    const rows = await untilItWorks({ what, log, signal }, () => vm.listChannelLedger(channelId, signal));
    return rows && this.#makeDelivery(this.#rows.load(rows));
  }

  #makeDelivery(rows: readonly LedgerRow[]): Opened {
    const { vm, channelId, access, api, budget, botId, log, now, waitScale } = this.#options;
    for (const { key, messageId } of rows) {
      if (key.startsWith(POST + NEWS)) this.#begunNews.add(key);
      if (messageId !== null) this.#noteSaid(key, messageId);
    }
    const content = new ChannelContent({
      rows,
      isAllowed: (userId) => access.may(userId, "read", channelId),
      isKept: (threadId) => this.#rows.began.some((id) => id === threadId),
      waitScale,
    });
    const delivery = new ThreadDelivery<ChannelNews>({
      threadId: channelId,
      isShared: true,
      mayChange: (key) => content.mayChange(key),
      content,
      rows,
      seen: channelId,
      owner: () => botId,
      // A file is named by the thread whose attachment it is, and its name there.
      readFile: (file) => {
        const at = file.indexOf("/");
        return vm.thread(knownThreadId.parse(file.slice(0, at))).findAttachment(file.slice(at + 1));
      },
      putMark: () => Promise.resolve(),
      putMessage: async (key, note) => {
        await vm.putChannelMessage(channelId, key, note);
        if ("messageId" in note) this.#noteSaid(key, note.messageId);
      },
      api,
      budget,
      botId,
      log,
      now,
      waitScale,
      onRefused: (refusal) => log.warn({ refusal }, "the channel takes nothing"),
    });
    return { delivery, content };
  }

  #noteSaid(key: string, messageId: string): void {
    this.#said.delete(key);
    this.#said.set(key, messageId);
    const [oldest] = this.#said.keys();
    if (this.#said.size > MAX_SAID && oldest !== undefined) this.#said.delete(oldest);
  }

  /** A background loop: a failed round is logged, and the next one comes. */
  async #run(): Promise<void> {
    const { vm, isMine, log, waitScale = 1 } = this.#options;
    const { signal } = this.#stop;
    const opened = await this.#opening;
    while (opened && !signal.aborted) {
      // What comes from here on is not in the reply: it is asked for again.
      this.#news = new AbortController();
      try {
        const items = (await vm.listInbox(signal)).filter((item) => isMine(item.channelId));
        const threads = await this.#listThreads(opened.content);
        await opened.delivery.accept({ items, threads });
        this.#noteTold(threads);
        await this.#tellJobs(opened.delivery);
      } catch (error) {
        // While the sidecar is away, reading its threads says so.
        if (!(error instanceof AppError) && !signal.aborted)
          log.error({ err: error }, "could not tell what needs people");
      }
      await pause(MIN_INTERVAL_MS * waitScale, signal);
      await pause((MAX_INTERVAL_MS - MIN_INTERVAL_MS) * waitScale, signal, this.#news.signal);
    }
  }

  /**
   * Tells the sidecar's news of jobs, each once: the sidecar's row and the ledger's key know which were told. Too many
   * become one piece of news on the sidecar before that is said, so a relay that is killed in between counts none twice.
   */
  async #tellJobs(delivery: Opened["delivery"]): Promise<void> {
    const { vm } = this.#options;
    let news = await this.#listNews();
    for (let more = tooMany(news, this.#begunNews); more.length > 0; more = tooMany(news, this.#begunNews)) {
      await vm.jobs.sumNews(more);
      news = await this.#listNews();
    }
    for (const one of news) {
      const name = NEWS + one.newsId;
      this.#begunNews.add(POST + name);
      await delivery.say(name, { text: newsText(one), buttons: newsButtons(one) });
      await vm.jobs.putTold(one);
      this.#begunNews.delete(POST + name);
    }
  }

  /** The news of this channel that nobody was told; those that stand for several come first. */
  async #listNews(): Promise<JobNews[]> {
    const { vm, isMine } = this.#options;
    const news = (await vm.jobs.listUntold()).filter(({ channelId }) => isMine(channelId ?? undefined));
    const isMore = ({ kind }: JobNews) => kind === "more";
    return [...news.filter(isMore), ...news.filter((one) => !isMore(one))];
  }

  /** The threads that messages of the channel began, but for those whose end was told. */
  async #listThreads(content: ChannelContent): Promise<ChannelThread[]> {
    const { vm } = this.#options;
    if (this.#rows.began.length === 0) return [];
    const open = new Map((await vm.listThreads()).map((thread) => [thread.threadId, thread]));
    const threads: ChannelThread[] = [];
    for (const threadId of this.#rows.began) {
      // One that is over may have been begun again.
      if (open.has(threadId)) this.#over.delete(threadId);
      if (this.#over.has(threadId)) continue;
      const thread = open.get(threadId) ?? (await this.#find(threadId));
      const isOver = thread === null || !isOpen(thread.status);
      threads.push({ threadId, thread, isOver, ends: await this.#listEnds(thread, content) });
    }
    return threads;
  }

  #noteTold(threads: readonly ChannelThread[]): void {
    for (const { threadId, thread, isOver } of threads) {
      this.#toldOf.set(threadId, stateOf(thread));
      if (isOver) this.#over.add(threadId);
    }
    // Older threads are not told of any more.
    const isOld = (threadId: ThreadName) => !this.#rows.began.some((id) => id === threadId);
    for (const threadId of [...this.#toldOf.keys()].filter(isOld)) this.#toldOf.delete(threadId);
    for (const threadId of [...this.#over].filter(isOld)) this.#over.delete(threadId);
  }

  async #find(threadId: DiscordId): Promise<Thread | null> {
    try {
      return await this.#options.vm.thread(threadId).get();
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return null;
      throw error;
    }
  }

  /** Turns that have ended since the last look. While one runs, those before it can wait. */
  async #listEnds(thread: Thread | null, content: ChannelContent): Promise<ChannelThread["ends"]> {
    // An agent that speaks with a tool posts its messages itself.
    if (!thread || thread.voice !== undefined || thread.status === "running" || thread.status === "queued")
      return [];
    const { threadId } = thread;
    if (this.#toldOf.get(threadId) === stateOf(thread)) return [];
    return listTurnEnds(this.#options.vm.thread(threadId), content.toldUpTo(threadId));
  }
}

/**
 * Lists the news that are told as one, with the piece that stands for others already; none if few enough are untold.
 * News whose message was begun keep that message.
 */
function tooMany(news: readonly JobNews[], begun: ReadonlySet<string>): JobNews[] {
  const open = news.filter(({ newsId }) => !begun.has(POST + NEWS + newsId));
  const more = open.filter(({ kind }) => kind !== "more").slice(0, -MAX_NEWS);
  return more.length === 0 ? [] : [...open.filter(({ kind }) => kind === "more"), ...more];
}

function stateOf(thread: Thread | null): string {
  return `${thread?.status} ${thread?.activeAt}`;
}

/** Asks those who have the right whether a job is still wanted. */
function newsButtons({ kind, job: name }: JobNews): Post["buttons"] {
  if (kind !== "asks") return [];
  return [
    ...jobAction.buttons({ what: "keep", name }, "Go on", "success"),
    ...jobAction.buttons({ what: "pause", name }, "Pause it", "secondary"),
  ];
}
