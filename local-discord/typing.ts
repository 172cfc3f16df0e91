/** Who is typing where: ten seconds from the request on, or until they have written. */
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
  world.typing.set(`${channel.id} ${userId}`, world.now() + TYPING_MS);
  world.emit({ type: "typing", channelId: channel.id, userId });
}

/** They have written: nobody waits for it any more. */
export function stopTyping(world: World, channelId: Snowflake, userId: Snowflake): void {
  world.typing.delete(`${channelId} ${userId}`);
}

/** Those who type in a channel now. */
export function typists(world: World, channelId: Snowflake): Snowflake[] {
  const now = world.now();
  for (const [key, until] of world.typing) if (until <= now) world.typing.delete(key);
  return [...world.typing.keys()].flatMap((key) => {
    const [place, userId] = key.split(" ");
    return place === channelId && userId !== undefined ? [userId] : [];
  });
}
