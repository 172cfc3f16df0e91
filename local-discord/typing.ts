/** Starts "… is typing", which lasts ten seconds from the request on, or until its user has written. */
import { refuse } from "./discord-error.ts";
import { has, Permission } from "./permissions.ts";
import type { World } from "./state.ts";
import { type Channel, isThread, type Snowflake } from "./types.ts";
import { canView } from "./wire.ts";

export const TYPING_MS = 10_000;

/** @throws DiscordError 50001, 50013, 50083 */
export function startTyping(world: World, channel: Channel, userId: Snowflake): void {
  if (!canView(world, userId, channel)) throw refuse(50001);
  const needed = isThread(channel) ? Permission.sendMessagesInThreads : Permission.sendMessages;
  if (!has(world.permissions(userId, channel), needed)) throw refuse(50013);
  if (isThread(channel) && channel.thread_metadata.archived) throw refuse(50083);
  world.passing.startTyping(channel.id, userId, world.now() + TYPING_MS);
  world.emit({ type: "typing", channelId: channel.id, userId });
}
