/** Text channels: made, deleted with all that is in them, and closed to somebody. */
import { refuse } from "./discord-error.ts";
import { bits, type PermissionName } from "./permissions.ts";
import type { World } from "./state.ts";
import {
  type Channel,
  ChannelType,
  isThread,
  type Snowflake,
  type TextChannel,
  textChannel,
} from "./types.ts";

/** @throws DiscordError 30013 */
export function createChannel(world: World, name: string): TextChannel {
  const others = world.textChannels();
  if (others.length >= world.limits.channels) throw refuse(30013);
  const position = others.reduce((last, channel) => Math.max(last, channel.position + 1), 0);
  const channel = textChannel(world.nextId(), channelName(name), position);
  world.data.channels.set(channel.id, channel);
  world.emit({ type: "channel-create", channel });
  return channel;
}

/** A channel's settings turn it into one of announcements, or back. */
export function setAnnouncement(world: World, channel: TextChannel, isAnnouncement: boolean): void {
  channel.type = isAnnouncement ? ChannelType.announcement : ChannelType.text;
  world.emit({ type: "channel-update", channel });
}

/** Discord tells of the channel alone: its threads and messages are gone without a word. */
export function deleteChannel(world: World, channel: TextChannel): void {
  const threads = world.threads().filter((thread) => thread.parent_id === channel.id);
  for (const { id } of [...threads, channel]) forget(world, id);
  world.emit({ type: "channel-delete", channel });
}

/** Takes a channel or thread away with its messages and files. */
export function forget(world: World, channelId: Snowflake): void {
  world.data.channels.delete(channelId);
  for (const message of world.messagesOf(channelId).values()) {
    for (const file of message.attachments) world.files.remove(file.id);
  }
  world.data.messages.delete(channelId);
}

/**
 * Denies a role, a person or the bot these permissions in a channel and its threads; an empty list gives all back.
 * @throws DiscordError 10009
 */
export function deny(world: World, channel: Channel, id: Snowflake, names: readonly PermissionName[]): void {
  if (isThread(channel)) throw new Error("threads have no permissions of their own");
  const isRole = world.data.roles.has(id);
  if (!isRole && !world.data.users.has(id)) throw refuse(10009);
  channel.permission_overwrites = channel.permission_overwrites.filter((entry) => entry.id !== id);
  if (names.length > 0) {
    channel.permission_overwrites.push({ id, type: isRole ? 0 : 1, allow: "0", deny: String(bits(names)) });
  }
  world.emit({ type: "channel-update", channel });
}

/** As Discord's client writes names of text channels. */
function channelName(name: string): string {
  return name.trim().toLowerCase().replace(/\s+/g, "-");
}
