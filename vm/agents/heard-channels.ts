/** Which channels an agent that speaks with a tool hears, and which it has heard. */
import { agentOf, type ChannelRow } from "../../shared/channel-api.ts";
import { AppError } from "../../shared/errors.ts";
import type { DiscordId, ThreadId } from "../../shared/ids.ts";
import type { Store } from "../store/store.ts";

/**
 * A channel and the name of the agent that hears it.
 * @throws AppError `not_found` if the channel is not served, `unsupported` if no agent hears it
 */
export function heardChannel(
  { channels }: Pick<Store, "channels">,
  channelId: DiscordId,
): { row: ChannelRow; name: string } {
  const row = channels.find(channelId);
  if (!row) throw new AppError("not_found", `channel: ${channelId} is none that is served.`);
  const name = agentOf(row);
  if (name === undefined)
    throw new AppError("unsupported", `mode: this channel is in mode ${row.mode}, so no agent hears it.`);
  return { row, name };
}

/** The channels that name an agent, in the order of their rows. */
export function channelsOfAgent({ channels }: Pick<Store, "channels">, name: string): ChannelRow[] {
  return channels.list().filter((row) => agentOf(row) === name);
}

/** The channels that a thread's agent hears now; none if the thread is no agent of a channel. */
export function channelsHeardBy(store: Pick<Store, "channels" | "spoken">, threadId: ThreadId): DiscordId[] {
  const isIts = (row: ChannelRow) => {
    const name = agentOf(row);
    return name !== undefined && store.spoken.findMain(name) === threadId;
  };
  return store.channels.list().flatMap((row) => (isIts(row) ? [row.id] : []));
}

/** Those too in which it heard somebody before: what was said there may stand in its transcript. */
export function channelsEverHeardBy(
  store: Pick<Store, "channels" | "spoken">,
  threadId: ThreadId,
): DiscordId[] {
  return [...new Set([...channelsHeardBy(store, threadId), ...store.spoken.listHeardIn(threadId)])];
}
