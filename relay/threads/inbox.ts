/** What needs people, kept in the channel: one message a person, through a ledger and a pump as a thread's messages. */
import type { InboxItem } from "../../shared/agent/api.ts";
import type { LedgerRow } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { InboxContent } from "../content/inbox-content.ts";
import { ThreadDelivery } from "../delivery/thread-delivery.ts";
import type { DiscordApi } from "../discord/api.ts";
import type { Budget } from "../discord/budget.ts";
import { untilItWorks } from "./until-it-works.ts";
import type { Vm } from "./vm.ts";

/** So often at most it is looked at anew, so no message is edited more often. */
const MIN_INTERVAL_MS = 3_000;
/** So often it is looked at if no thread tells of news: threads of the API, and ends that grow old. */
const MAX_INTERVAL_MS = 15_000;

export interface InboxOptions {
  vm: Vm;
  api: DiscordApi;
  budget: Budget;
  botId: string;
  channelId: string;
  allowedUserIds: ReadonlySet<string>;
  log: Log;
  now: () => number;
}

type Delivery = ThreadDelivery<readonly InboxItem[]>;

export class Inbox {
  readonly #options: InboxOptions;
  readonly #stop = new AbortController();
  /** The ledger is read once the sidecar answers. */
  readonly #opening: Promise<Delivery | undefined>;
  /** Ends the wait for news. */
  #news = new AbortController();
  #work: Promise<void> = Promise.resolve();

  constructor(options: InboxOptions) {
    this.#options = { ...options, log: options.log.child({ channelId: options.channelId }) };
    this.#opening = this.#open();
  }

  start(): void {
    this.#work = this.#run();
  }

  /** Something has happened in a thread: it may need somebody, or not any more. */
  poke(): void {
    this.#news.abort();
  }

  /** Says something in the channel, once for each name. @throws what Discord refuses with */
  async say(name: string, text: string): Promise<void> {
    await (await this.#opening)?.say(name, { text, buttons: [] });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#work;
    await (await this.#opening)?.close();
  }

  /** Undefined if it is closed before the sidecar answers. */
  async #open(): Promise<Delivery | undefined> {
    const { vm, channelId, log } = this.#options;
    const { signal } = this.#stop;
    const what = "read its channel's ledger";
    const rows = await untilItWorks({ what, log, signal }, () => vm.listChannelLedger(channelId, signal));
    return rows && this.#makeDelivery(rows);
  }

  #makeDelivery(rows: readonly LedgerRow[]): Delivery {
    const { vm, channelId, allowedUserIds, api, budget, botId, log, now } = this.#options;
    const keys = rows.map(({ key }) => key);
    return new ThreadDelivery({
      threadId: channelId,
      isShared: true,
      content: new InboxContent(keys, (userId) => allowedUserIds.has(userId)),
      rows,
      seen: channelId,
      owner: botId,
      putMark: () => Promise.resolve(),
      putMessage: (key, note) => vm.putChannelMessage(channelId, key, note),
      api,
      budget,
      botId,
      log,
      now,
      onRefused: (refusal) => log.warn({ refusal }, "the channel takes nothing"),
    });
  }

  /** A background loop: a failed round is logged, and the next one comes. */
  async #run(): Promise<void> {
    const { vm, log } = this.#options;
    const { signal } = this.#stop;
    const delivery = await this.#opening;
    while (delivery && !signal.aborted) {
      // What comes from here on is not in the reply: it is asked for again.
      this.#news = new AbortController();
      try {
        await delivery.accept(await vm.listInbox(signal));
      } catch (error) {
        // While the sidecar is away, reading its threads says so.
        if (!(error instanceof AppError)) log.error({ err: error }, "could not tell what needs people");
      }
      await pause(MIN_INTERVAL_MS, signal);
      await pause(MAX_INTERVAL_MS - MIN_INTERVAL_MS, signal, this.#news.signal);
    }
  }
}
