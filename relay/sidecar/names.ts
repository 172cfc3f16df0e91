/**
 * The names of threads. The relay calls a thread as it is called in Discord, if it is there; the sidecar knows it by that
 * name too. Nobody else on this side turns a thread's own id into Discord's or back.
 */
import type { Thread as OwnThread } from "../../shared/api.ts";
import type { DiscordId, ThreadId, ThreadName } from "../../shared/ids.ts";

/** A thread as the relay knows it. */
export type Thread = Omit<OwnThread, "threadId" | "parentId"> & {
  threadId: ThreadName;
  /** The sidecar's own. */
  ownId: ThreadId;
  parentId?: ThreadName | null | undefined;
};
/** One that has a Discord thread. */
export type ThreadInDiscord = Thread & { threadId: DiscordId };

/** The same threads by their names in Discord. */
export function named(threads: readonly OwnThread[]): Thread[] {
  const names = new Map(threads.map(({ threadId, home }) => [threadId, discordIdOf({ home }) ?? threadId]));
  const nameOf = (threadId: ThreadId): ThreadName => names.get(threadId) ?? threadId;
  return threads.map(({ threadId, parentId, ...thread }) => ({
    ...thread,
    threadId: nameOf(threadId),
    ownId: threadId,
    parentId: parentId && nameOf(parentId),
  }));
}

/** Undefined if there is none, or not yet. */
export function discordIdOf({ home }: Pick<OwnThread, "home">): DiscordId | undefined {
  return home?.channelId ?? undefined;
}

/** The channel that its Discord thread is in; undefined if nobody has said. */
export function channelIdOf({ home }: Pick<OwnThread, "home">): DiscordId | undefined {
  return home?.parentId ?? undefined;
}

export function isInDiscord(thread: Thread): thread is ThreadInDiscord {
  return discordIdOf(thread) === thread.threadId;
}

/** A thread at Discord, and the channel that it is in. */
export interface DiscordPlace {
  threadId: DiscordId;
  /** Undefined if nobody has said. */
  channelId: DiscordId | undefined;
}

/**
 * The fields of a request for a new thread that name it: its own id, and its Discord thread.
 * @param ownId of the thread in whose place it comes
 */
export function newInDiscord(
  { threadId, channelId }: DiscordPlace,
  ownId: ThreadId | undefined,
): { threadId: ThreadId; home: { channelId: DiscordId; parentId?: DiscordId } } {
  const home = { channelId: threadId, ...(channelId !== undefined && { parentId: channelId }) };
  return { threadId: ownId ?? (threadId as string as ThreadId), home };
}
