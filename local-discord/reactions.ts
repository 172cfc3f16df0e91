/** Reactions: added, taken away. */
import { refuse } from "./discord-error.ts";
import { has, Permission } from "./permissions.ts";
import type { World } from "./state.ts";
import { type Emoji, isThread, type Message, type Snowflake } from "./types.ts";
import { canView } from "./wire.ts";

const UNICODE_EMOJI = /^(?:\p{Extended_Pictographic}|\p{Regional_Indicator}|[0-9#*]\uFE0F?\u20E3)/u;

/** @throws DiscordError 10014, 50001, 50013, 50083 */
export function addReaction(world: World, message: Message, userId: Snowflake, emojiText: string): void {
  const emoji = parseEmoji(emojiText);
  const channel = world.getChannel(message.channel_id);
  if (!canView(world, userId, channel)) throw refuse(50001);
  const permissions = world.permissions(userId, channel);
  if (!has(permissions, Permission.readMessageHistory)) throw refuse(50001);
  if (isThread(channel) && channel.thread_metadata.archived) throw refuse(50083);
  const known = message.reactions.find((entry) => entry.emoji.name === emoji.name);
  if (known?.users.includes(userId)) return;
  // Only the first of its kind needs ADD_REACTIONS.
  if (!known && !has(permissions, Permission.addReactions)) throw refuse(50013);
  if (known) known.users.push(userId);
  else message.reactions.push({ emoji, users: [userId] });
  message.rev = world.nextRev();
  world.emit({ type: "reaction-add", message, userId, emoji });
}

export function removeReaction(world: World, message: Message, userId: Snowflake, emojiText: string): void {
  const emoji = parseEmoji(emojiText);
  const known = message.reactions.find((entry) => entry.emoji.name === emoji.name);
  if (!known?.users.includes(userId)) return;
  known.users = known.users.filter((id) => id !== userId);
  message.reactions = message.reactions.filter((entry) => entry.users.length > 0);
  message.rev = world.nextRev();
  world.emit({ type: "reaction-remove", message, userId, emoji });
}

function parseEmoji(text: string): Emoji {
  if (!UNICODE_EMOJI.test(text)) throw refuse(10014);
  return { id: null, name: text };
}
