/** The Discord threads of threads that Discord did not begin: both ids lead to the thread. */
import type * as z from "zod";
import type { outputsRequestSchema } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { HomeRequest } from "../../shared/home-api.ts";
import { snowflakeSchema } from "../../shared/ledger-api.ts";
import type { Store } from "../store/store.ts";

type OutputsRequest = z.output<typeof outputsRequestSchema>;

export class Homes {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** What callers call a thread → its id. */
  resolve(name: string): string {
    if (!snowflakeSchema.safeParse(name).success) return name; // a key costs no look into the database
    return this.#store.homes.findThread(name) ?? name;
  }

  /** The id under which a thread is known in Discord. */
  nameOf(threadId: string): string {
    return this.#store.homes.find(threadId)?.channelId ?? threadId;
  }

  /**
   * The relay is about to make a thread's Discord thread, or has made it.
   * @throws AppError `not_found` if it wants none, `thread_exists` if the Discord thread is another thread's.
   */
  put(threadId: string, request: HomeRequest): void {
    const { homes, threads } = this.#store;
    const home = homes.find(threadId);
    if (!home) throw new AppError("not_found", `Thread ${JSON.stringify(threadId)} wants no Discord thread.`);
    if ("after" in request) {
      if (home.channelId === null) homes.setAfter(threadId, request.after);
      return;
    }
    const { channelId } = request;
    if (home.channelId === channelId) return;
    const isTaken = homes.findThread(channelId) !== undefined || threads.find(channelId) !== undefined;
    if (isTaken || home.channelId !== null) {
      throw new AppError("thread_exists", `${channelId}: it is another thread's, or this one has another.`);
    }
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
