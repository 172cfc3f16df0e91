/** Says how the agent that hears a channel is: what it does, what it has cost today, and whom it has not answered. */
import { isForeign } from "../../shared/agent/fold-messages.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { openUsd } from "../../shared/agent/limits.ts";
import { isOpen } from "../../shared/api.ts";
import { dayStart } from "../../shared/clock-text.ts";
import type { DiscordId, ThreadId } from "../../shared/ids.ts";
import type { Principal } from "../../shared/principal.ts";
import { MAX_UNANSWERED, type MainStatus } from "../../shared/voice-api.ts";
import type { People } from "../callers/people.ts";
import type { Store } from "../store/store.ts";
import type { Threads } from "../threads/threads.ts";
import type { AgentFolders } from "./folders.ts";
import { channelsOfAgent, heardChannel } from "./heard-channels.ts";

export interface MainStatusesOptions {
  store: Store;
  threads: Pick<Threads, "get">;
  foldNow: (threadId: ThreadId) => Promise<ThreadFold>;
  people: Pick<People, "may">;
  folders: Pick<AgentFolders, "parentOf">;
  now: () => number;
}

type Unanswered = MainStatus["unanswered"][number];

/** An agent that nobody has written to yet has no thread. */
const NOT_MADE = {
  ...{ threadId: null, number: null, status: null, doing: null, problem: null },
  ...{ openAsks: 0, costTodayUsd: 0, childrenTodayUsd: 0, waiting: 0, unansweredCount: 0, unanswered: [] },
};

export class MainStatuses {
  readonly #options: MainStatusesOptions;

  constructor(options: MainStatusesOptions) {
    this.#options = options;
  }

  /**
   * Makes nothing.
   * @param by who asks: they are told no message of a channel in which they may not read
   * @throws AppError `not_found`, `unsupported` if no agent hears the channel
   */
  async of(channelId: DiscordId, by: Principal): Promise<MainStatus> {
    const { store, threads, people } = this.#options;
    const { row, name } = heardChannel(store, channelId);
    const channels = channelsOfAgent(store, name).map((one) => ({ id: one.id, name: one.name }));
    const threadId = store.spoken.findMain(name);
    const isMade = threadId !== undefined && store.threads.find(threadId)?.isMade === true;
    if (!isMade) return { name, channels, dir: row.dir, ...NOT_MADE };
    const fold = await this.#foldOf(threadId);
    const { number, status, doing, problem, dir, waiting } = threads.get(threadId);
    const unanswered = fold === undefined ? [] : unansweredOf(fold);
    const told = unanswered.filter((one) => people.may(by, "read", one.channelId));
    return {
      ...{ name, threadId, number, channels, status, doing, problem, dir, waiting },
      openAsks: fold?.asks.length ?? 0,
      costTodayUsd: this.#costToday(threadId, fold),
      childrenTodayUsd: this.#childrenToday(threadId),
      unansweredCount: unanswered.length,
      unanswered: told.slice(0, MAX_UNANSWERED),
    };
  }

  /** Undefined if it was ended. */
  async #foldOf(threadId: ThreadId): Promise<ThreadFold | undefined> {
    const thread = this.#options.store.threads.find(threadId);
    return thread && isOpen(thread.status) ? this.#options.foldNow(threadId) : undefined;
  }

  #childrenToday(threadId: ThreadId): number {
    const { store, folders } = this.#options;
    const agents = store.agents.list();
    const below = (parentId: ThreadId): number =>
      agents
        .filter((one) => folders.parentOf(one.threadId) === parentId)
        .reduce((sum, one) => sum + this.#costToday(one.threadId, one.fold) + below(one.threadId), 0);
    return below(threadId);
  }

  #costToday(threadId: ThreadId, fold: ThreadFold | undefined): number {
    const { store, now } = this.#options;
    const since = new Date(dayStart(now())).toISOString();
    return store.steps.spentSince(threadId, since) + (fold ? openUsd(fold) : 0);
  }
}

/** People's messages that it has read and owes an answer, and those that it has not read yet; the oldest first. */
function unansweredOf({ voice, messages, deliveries }: ThreadFold): Unanswered[] {
  const read = (voice?.owed ?? []).map(({ messageId, channelId, handle, at }) => ({
    ...{ inputId: messageId, channelId, handle, at },
    isRead: true,
  }));
  const onTheirWay = deliveries.flatMap((one) => (one.status === "noted" ? one.messages : []));
  const unread = [...onTheirWay, ...messages].flatMap((message) => {
    const { messageId, channelId, handle, at } = message;
    if (isForeign(message) || channelId === undefined || handle === undefined || at === undefined) return [];
    return [{ inputId: messageId, channelId, handle, at, isRead: false }];
  });
  return [...read, ...unread];
}
