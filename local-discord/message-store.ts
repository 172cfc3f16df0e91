/** The one place where a message enters a channel: counters move and everybody is told. */
import type { World } from "./state.ts";
import { type Channel, isThread, type Message, type MessageReference, type Snowflake } from "./types.ts";

/** Discord does not count the starter and other system messages in threads' counters. */
const COUNTED_TYPES = [0, 19, 20, 23];

export function insertMessage(world: World, channel: Channel, message: Message): void {
  // A message ends its author's "… is typing".
  world.passing.stopTyping(channel.id, message.author_id);
  if (message.ephemeral_for !== undefined) world.passing.addEphemeral(message);
  else {
    world.messagesOf(channel.id).set(message.id, message);
    channel.last_message_id = message.id;
    if (isThread(channel) && COUNTED_TYPES.includes(message.type)) {
      channel.message_count += 1;
      channel.total_message_sent += 1;
    }
  }
  world.emit({ type: "message-create", message });
}

export function postSystemMessage(
  world: World,
  channel: Channel,
  message: { type: number; authorId: Snowflake; content: string; reference?: MessageReference },
): Message {
  const made: Message = {
    ...blankMessage(world, channel.id, message.authorId),
    type: message.type,
    content: message.content,
    ...(message.reference ? { message_reference: message.reference } : {}),
  };
  insertMessage(world, channel, made);
  return made;
}

export function blankMessage(world: World, channelId: Snowflake, authorId: Snowflake): Message {
  return {
    id: world.nextId(),
    channel_id: channelId,
    type: 0,
    author_id: authorId,
    content: "",
    timestamp: world.isoNow(),
    edited_timestamp: null,
    mention_everyone: false,
    mentions: [],
    mention_roles: [],
    attachments: [],
    embeds: [],
    components: [],
    reactions: [],
    flags: 0,
    rev: world.nextRev(),
  };
}
