/** The Discord threads of threads: both ids lead to the thread. Nobody else on this side turns one into the other. */
import type * as z from "zod";
import type { outputsRequestSchema } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { HomeRequest, NewHome } from "../../shared/home-api.ts";
import type { Store } from "../store/store.ts";

type OutputsRequest = z.output<typeof outputsRequestSchema>;

export class Homes {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** What callers call a thread → its id. */
  resolve(name: string): string {
    return this.#store.homes.findThread(name) ?? name;
  }

  /** The id under which a thread is known in Discord. */
  nameOf(threadId: string): string {
    return this.#store.homes.find(threadId)?.channelId ?? threadId;
  }

  /** Whether it has a Discord thread, or is to have one. */
  isWanted(threadId: string): boolean {
    return this.#store.homes.find(threadId) !== undefined;
  }

  /** @throws AppError `thread_exists` if a new thread's id, or its Discord thread's, leads to another thread. */
  checkNew(threadId: string, home: NewHome | undefined): void {
    const isOthers = (name: string) => ![undefined, threadId].includes(this.#findOwner(name));
    if (isOthers(threadId)) throw isTaken(threadId);
    if (typeof home === "object" && isOthers(home.channelId)) throw isTaken(home.channelId);
  }

  /** Within the transaction that stores a new thread. */
  begin(threadId: string, home: NewHome): void {
    const { homes } = this.#store;
    homes.want(threadId);
    if (home !== "discord") homes.setChannel(threadId, home.channelId);
  }

  /** The thread to which a name leads. */
  #findOwner(name: string): string | undefined {
    const { homes, threads } = this.#store;
    return homes.findThread(name) ?? threads.find(name)?.threadId;
  }

  /**
   * The relay is about to make a thread's Discord thread, or has made it.
   * @throws AppError `not_found` if it wants none, `thread_exists` if the Discord thread is another thread's.
   */
  put(threadId: string, request: HomeRequest): void {
    const { homes } = this.#store;
    const home = homes.find(threadId);
    if (!home) throw new AppError("not_found", `Thread ${JSON.stringify(threadId)} wants no Discord thread.`);
    if ("after" in request) {
      if (home.channelId === null) homes.setAfter(threadId, request.after);
      return;
    }
    const { channelId } = request;
    if (home.channelId === channelId) return;
    if (home.channelId !== null || this.#findOwner(channelId) !== undefined) throw isTaken(channelId);
    homes.setChannel(threadId, channelId);
  }

  /** A request for many threads by their ids, and its reply by the names that were asked for. */
  async translated<R extends { threads: Record<string, unknown>; transcripts: Record<string, unknown> }>(
    request: OutputsRequest,
    read: (request: OutputsRequest) => Promise<R>,
  ): Promise<R> {
    const { since, transcripts, status } = request;
    const threadIds = this.#store.homes.findThreads([...Object.keys(since), ...Object.keys(transcripts)]);
    const names = new Map([...threadIds].map(([name, threadId]) => [threadId, name]));
    const byId = <T>(values: Record<string, T>) =>
      Object.fromEntries(Object.entries(values).map(([name, value]) => [threadIds.get(name) ?? name, value]));
    const reply = await read({
      ...request,
      since: byId(since),
      transcripts: byId(transcripts),
      ...(status && { status: byId(status) }),
    });
    const byName = <T>(values: Record<string, T>) =>
      Object.fromEntries(Object.entries(values).map(([id, value]) => [names.get(id) ?? id, value]));
    return { ...reply, threads: byName(reply.threads), transcripts: byName(reply.transcripts) };
  }
}

function isTaken(name: string): AppError {
  return new AppError("thread_exists", `${name}: it is another thread's, or this one has another.`);
}
