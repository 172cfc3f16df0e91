/** The Discord threads of threads: both ids lead to the thread. Nobody else on this side turns one into the other. */
import type * as z from "zod";
import type { TranscriptReply } from "../../shared/agent/api.ts";
import {
  isOpen,
  type OutputReply,
  type OutputsReply,
  type outputsRequestSchema,
  type ThreadStatus,
} from "../../shared/api.ts";
import { agentOf } from "../../shared/channel-api.ts";
import { AppError } from "../../shared/errors.ts";
import type { HomeRequest, NewHome } from "../../shared/home-api.ts";
import {
  type DiscordId,
  discordIdSchema,
  entriesById,
  type ThreadId,
  type ThreadName,
  threadIdSchema,
} from "../../shared/ids.ts";
import { lazy } from "../../shared/lazy.ts";
import type { Store } from "../store/store.ts";

/** As a caller asks for it, or below a channel, where the relay makes it. */
export type FirstHome = NewHome | { parentId: DiscordId };

type OutputsRequest = z.output<typeof outputsRequestSchema>;

/** By the threads' own ids. */
export type OwnOutputsRequest = Omit<OutputsRequest, "since" | "transcripts" | "status"> & {
  since: Record<ThreadId, number>;
  transcripts: Record<ThreadId, number>;
  status?: Record<ThreadId, ThreadStatus>;
};
export interface OwnOutputsReply extends Pick<OutputsReply, "homeless" | "channels" | "spoken"> {
  threads: Record<ThreadId, OutputReply>;
  transcripts: Record<ThreadId, TranscriptReply>;
}

export class Homes {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The channel that a thread is in, or is to be made in; undefined if nobody has said. */
  channelOf(threadId: ThreadId): DiscordId | undefined {
    return this.#store.homes.find(threadId)?.parentId ?? undefined;
  }

  /**
   * The channel below which the thread of an agent that hears channels is, or is to be made; undefined if no channel
   * names the agent.
   */
  channelOfMain(name: string): DiscordId | undefined {
    const { spoken, channels } = this.#store;
    const threadId = spoken.findMain(name);
    const own = threadId && this.channelOf(threadId);
    return own ?? channels.list().find((row) => agentOf(row) === name)?.id;
  }

  /** As {@link channelOf}, for all of a list in one look, which is taken when the first is asked for. */
  channelsOf(): (item: { threadId: ThreadId }) => DiscordId | undefined {
    const parents = lazy(() => this.#store.homes.listParents());
    return ({ threadId }) => parents().get(threadId);
  }

  /**
   * What callers call a thread → its id: its own or its Discord thread's id, its name, its number, its title, in this
   * order. What is none of them counts as an id, of a thread that is not there.
   * @throws AppError `not_found` if it can't even be an id, `invalid_request` if several have the title
   */
  resolve(name: string): ThreadId {
    const found = this.#findOwner(name) ?? this.#findNumbered(name);
    if (found !== undefined) return found;
    const [titled, other] = this.#listTitled(name);
    if (titled !== undefined && other === undefined) return titled;
    if (titled !== undefined && other !== undefined)
      throw new AppError(
        "invalid_request",
        `threadId: several threads have the title ${JSON.stringify(name)}, such as ${titled} and ${other}; say an id, a name or a number.`,
      );
    const id = threadIdSchema.safeParse(name);
    if (id.success) return id.data;
    throw new AppError("not_found", `There is no thread ${JSON.stringify(name)}.`);
  }

  /** The same of a name that may fit none, or several. */
  find(name: string): ThreadId | undefined {
    const titled = this.#listTitled(name);
    return this.#findOwner(name) ?? this.#findNumbered(name) ?? (titled.length === 1 ? titled[0] : undefined);
  }

  #findNumbered(name: string): ThreadId | undefined {
    const number = /^#?0*([1-9]\d{0,8})$/.exec(name)?.[1];
    return number === undefined ? undefined : this.#store.agents.findNumbered(Number(number));
  }

  /** Open ones, or, if there are none, ended ones. What looks like an id of Discord's is no title. */
  #listTitled(name: string): ThreadId[] {
    const wanted = name.trim().toLowerCase();
    if (wanted === "" || discordIdSchema.safeParse(wanted).success) return [];
    const named = this.#store.threads.list("all").filter(({ title }) => title.toLowerCase() === wanted);
    const open = named.filter(({ status }) => isOpen(status));
    return (open.length > 0 ? open : named).map(({ threadId }) => threadId);
  }

  /** Its Discord thread; undefined if there is none, or not yet. */
  findDiscordId(threadId: ThreadId): DiscordId | undefined {
    return this.#store.homes.find(threadId)?.channelId ?? undefined;
  }

  /** The relay's name for a thread. */
  nameOf(threadId: ThreadId): ThreadName {
    return this.findDiscordId(threadId) ?? threadId;
  }

  /** Whether it has a Discord thread, or is to have one. */
  isWanted(threadId: ThreadId): boolean {
    return this.#store.homes.find(threadId) !== undefined;
  }

  /** @throws AppError `thread_exists` if a new thread's id, or its Discord thread's, leads to another thread. */
  checkNew(threadId: ThreadId, home: FirstHome | undefined): void {
    const isOthers = (name: string) => ![undefined, threadId].includes(this.#findOwner(name));
    if (isOthers(threadId)) throw isTaken(threadId);
    if (typeof home === "object" && "channelId" in home && isOthers(home.channelId))
      throw isTaken(home.channelId);
  }

  /** Within the transaction that stores a new thread. */
  begin(threadId: ThreadId, home: FirstHome): void {
    const { homes } = this.#store;
    homes.want(threadId);
    if (home === "discord") return;
    if ("channelId" in home) homes.setChannel(threadId, home.channelId);
    if (home.parentId !== undefined) homes.setParent(threadId, home.parentId);
  }

  /** The thread to which a name leads. */
  #findOwner(name: string): ThreadId | undefined {
    const { homes, threads } = this.#store;
    const own = homes.findThread(name) ?? threads.find(name as ThreadId)?.threadId;
    return own ?? threads.findByName(name)?.threadId;
  }

  /**
   * The relay is about to make a thread's Discord thread, or has made it.
   * @throws AppError `not_found` if it wants none, `thread_exists` if the Discord thread is another thread's.
   */
  put(threadId: ThreadId, request: HomeRequest): void {
    const { homes } = this.#store;
    const home = homes.find(threadId);
    if (!home) throw new AppError("not_found", `Thread ${JSON.stringify(threadId)} wants no Discord thread.`);
    const { parentId } = request;
    if ("after" in request) {
      if (home.channelId !== null) return;
      homes.setAfter(threadId, request.after);
      if (parentId !== undefined) homes.setParent(threadId, parentId);
      return;
    }
    const { channelId } = request;
    const isNew = home.channelId !== channelId;
    if (isNew && (home.channelId !== null || this.#findOwner(channelId) !== undefined))
      throw isTaken(channelId);
    if (isNew) homes.setChannel(threadId, channelId);
    if (parentId !== undefined) homes.setParent(threadId, parentId);
  }

  /** A request for many threads by their ids, and its reply by the names that were asked for. */
  async translated(
    { since, transcripts, status, ...request }: OutputsRequest,
    read: (request: OwnOutputsRequest) => Promise<OwnOutputsReply>,
  ): Promise<OutputsReply> {
    const keys = [...Object.keys(since), ...Object.keys(transcripts)];
    const found = this.#store.homes.findThreads(keys);
    for (const key of keys) {
      const isId = found.has(key) || this.#store.threads.find(key as ThreadId) !== undefined;
      const threadId = isId ? undefined : this.find(key);
      if (threadId !== undefined) found.set(key, threadId);
    }
    const names = new Map([...found].map(([name, threadId]) => [threadId, name]));
    const byId = <T>(values: Record<string, T>) =>
      Object.fromEntries(
        Object.entries(values).map(([name, value]) => [found.get(name) ?? (name as ThreadId), value]),
      ) as Record<ThreadId, T>;
    const byName = <T>(values: Record<ThreadId, T>) =>
      Object.fromEntries(entriesById<ThreadId, T>(values).map(([id, value]) => [names.get(id) ?? id, value]));
    const own = { ...request, since: byId(since), transcripts: byId(transcripts) };
    const reply = await read({ ...own, ...(status && { status: byId(status) }) });
    return { ...reply, threads: byName(reply.threads), transcripts: byName(reply.transcripts) };
  }
}

function isTaken(name: string): AppError {
  return new AppError("thread_exists", `${name}: it is another thread's, or this one has another.`);
}
