/** The Discord threads of threads: both ids lead to the thread. Nobody else on this side turns one into the other. */
import type * as z from "zod";
import type { TranscriptReply } from "../../shared/agent/api.ts";
import type { OutputReply, OutputsReply, outputsRequestSchema, ThreadStatus } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { HomeRequest, NewHome } from "../../shared/home-api.ts";
import { type DiscordId, entriesById, type ThreadId, type ThreadName } from "../../shared/ids.ts";
import type { Store } from "../store/store.ts";

type OutputsRequest = z.output<typeof outputsRequestSchema>;

/** By the threads' own ids. */
export type OwnOutputsRequest = Omit<OutputsRequest, "since" | "transcripts" | "status"> & {
  since: Record<ThreadId, number>;
  transcripts: Record<ThreadId, number>;
  status?: Record<ThreadId, ThreadStatus>;
};
export interface OwnOutputsReply extends Pick<OutputsReply, "homeless" | "channels"> {
  threads: Record<ThreadId, OutputReply>;
  transcripts: Record<ThreadId, TranscriptReply>;
}

export class Homes {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** What callers call a thread → its id. */
  resolve(name: string): ThreadId {
    // A name that is no thread's Discord thread counts as an id; a thread of that id may be missing.
    return this.#store.homes.findThread(name) ?? (name as ThreadId);
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
  checkNew(threadId: ThreadId, home: NewHome | undefined): void {
    const isOthers = (name: string) => ![undefined, threadId].includes(this.#findOwner(name));
    if (isOthers(threadId)) throw isTaken(threadId);
    if (typeof home === "object" && isOthers(home.channelId)) throw isTaken(home.channelId);
  }

  /** Within the transaction that stores a new thread. */
  begin(threadId: ThreadId, home: NewHome): void {
    const { homes } = this.#store;
    homes.want(threadId);
    if (home === "discord") return;
    homes.setChannel(threadId, home.channelId);
    if (home.parentId !== undefined) homes.setParent(threadId, home.parentId);
  }

  /** The thread to which a name leads. */
  #findOwner(name: string): ThreadId | undefined {
    const { homes, threads } = this.#store;
    return homes.findThread(name) ?? threads.find(name as ThreadId)?.threadId;
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
    const found = this.#store.homes.findThreads([...Object.keys(since), ...Object.keys(transcripts)]);
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
