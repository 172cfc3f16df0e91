/** Our records → the JSON that Discord sends. Pure but for the signature in attachment links. */
import { createHmac } from "node:crypto";
import { has, Permission } from "./permissions.ts";
import type { World } from "./state.ts";
import {
  type Attachment,
  type Channel,
  type Command,
  type Component,
  isThread,
  type Member,
  type Message,
  MessageFlag,
  type MessageInteraction,
  type Reaction,
  type Role,
  type Snowflake,
  type Thread,
  type ThreadMember,
  type User,
} from "./types.ts";

export type Wire = Record<string, unknown>;

export function userWire(user: User): Wire {
  return {
    id: user.id,
    username: user.username,
    discriminator: user.bot ? "0001" : "0",
    global_name: user.global_name,
    avatar: null,
    bot: user.bot,
    public_flags: 0,
    flags: 0,
  };
}

/** Without `user`, as inside messages. */
export function memberWire(member: Member): Wire {
  return {
    roles: member.roles,
    joined_at: member.joined_at,
    nick: null,
    avatar: null,
    premium_since: null,
    deaf: false,
    mute: false,
    flags: 0,
    pending: false,
    communication_disabled_until: null,
  };
}

export function memberWithUserWire(world: World, userId: Snowflake): Wire {
  const member = world.data.members.get(userId);
  return { ...(member ? memberWire(member) : {}), user: userWire(world.getUser(userId)) };
}

export function roleWire({ isManaged = false, ...role }: Role): Wire {
  return {
    ...role,
    color: 0,
    colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
    hoist: false,
    icon: null,
    unicode_emoji: null,
    managed: isManaged,
    mentionable: false,
    flags: 0,
  };
}

export function threadMemberWire(thread: Thread, member: ThreadMember): Wire {
  return { id: thread.id, user_id: member.user_id, join_timestamp: member.join_timestamp, flags: 0 };
}

/** A channel or thread; `member` is there when `viewerId` has joined the thread. */
export function channelWire(world: World, channel: Channel, viewerId?: Snowflake): Wire {
  if (!isThread(channel)) {
    return { ...channel, guild_id: world.data.guildId, parent_id: null, nsfw: false, flags: 0 };
  }
  const { members, ...thread } = channel;
  const own = members.find((entry) => entry.user_id === viewerId);
  return {
    ...thread,
    thread_metadata: { ...thread.thread_metadata },
    guild_id: world.data.guildId,
    member_count: Math.min(50, members.length), // Discord stops counting at 50
    flags: 0,
    ...(own ? { member: threadMemberWire(channel, own) } : {}),
  };
}

/** What a message looks like to the bot when it may not read it: fields are empty, not absent. */
export function isBlankFor(world: World, message: Message, mayReadContent: boolean): boolean {
  const botId = world.data.applicationId;
  return !mayReadContent && message.author_id !== botId && !message.mentions.includes(botId);
}

/**
 * @param viewer who reads it: `mayReadContent` is false for a bot without the message content intent.
 */
export function messageWire(
  world: World,
  message: Message,
  viewer: { userId: Snowflake; mayReadContent: boolean; isNested?: boolean },
): Wire {
  const isBlank = isBlankFor(world, message, viewer.mayReadContent);
  const reference = message.message_reference;
  const referenced =
    reference?.message_id === undefined || message.type !== 19
      ? undefined
      : (world.findMessage(reference.channel_id, reference.message_id) ?? null);
  const thread = (message.flags & MessageFlag.hasThread) !== 0 ? world.findChannel(message.id) : undefined;
  return {
    id: message.id,
    channel_id: message.channel_id,
    type: message.type,
    author: userWire(world.getUser(message.author_id)),
    content: isBlank ? "" : message.content,
    timestamp: message.timestamp,
    edited_timestamp: message.edited_timestamp,
    tts: false,
    mention_everyone: message.mention_everyone,
    mentions: message.mentions.map((id) => userWire(world.getUser(id))),
    mention_roles: message.mention_roles,
    mention_channels: [],
    attachments: isBlank
      ? []
      : message.attachments.map((file) => attachmentWire(world, message.channel_id, file)),
    embeds: isBlank ? [] : message.embeds.map((embed) => ({ type: "rich", ...embed })),
    components: isBlank ? [] : numberComponents(message.components),
    pinned: false,
    flags: message.flags,
    ...(message.reactions.length > 0
      ? { reactions: message.reactions.map((entry) => reactionWire(entry, viewer.userId)) }
      : {}),
    ...(message.webhook_id === undefined
      ? {}
      : { webhook_id: message.webhook_id, application_id: message.webhook_id }),
    ...(isBlank ? {} : message.extras),
    ...(reference ? { message_reference: { type: 0, guild_id: world.data.guildId, ...reference } } : {}),
    ...(referenced === undefined || viewer.isNested
      ? {}
      : {
          referenced_message:
            referenced === null ? null : messageWire(world, referenced, { ...viewer, isNested: true }),
        }),
    ...(message.interaction ? { interaction_metadata: interactionMetadata(world, message.interaction) } : {}),
    ...(thread ? { thread: channelWire(world, thread, viewer.userId) } : {}),
  };
}

/** Only the answer to a send and MESSAGE_CREATE carry the nonce: what is read later has none. */
export function nonceWire(message: Message): Wire {
  return message.nonce === undefined ? {} : { nonce: message.nonce };
}

/** The extras of gateway messages; ephemeral ones come without them. */
export function gatewayMessageWire(
  world: World,
  message: Message,
  viewer: { userId: Snowflake; mayReadContent: boolean },
): Wire {
  const wire = messageWire(world, message, viewer);
  if (message.ephemeral_for !== undefined) return wire;
  const member = world.data.members.get(message.author_id);
  return {
    ...wire,
    guild_id: world.data.guildId,
    channel_type: world.findChannel(message.channel_id)?.type ?? 0,
    ...(member && message.webhook_id === undefined ? { member: memberWire(member) } : {}),
  };
}

export function commandWire(world: World, command: Command): Wire {
  return {
    ...command,
    application_id: world.data.applicationId,
    contexts: null,
    integration_types: [0],
    name_localizations: null,
    description_localizations: null,
  };
}

/** A CDN link with the signature and expiry that Discord's links carry. */
export function attachmentWire(world: World, channelId: Snowflake, file: Attachment): Wire {
  const path = `/attachments/${channelId}/${file.id}/${encodeURIComponent(file.filename)}`;
  const issued = Math.floor(world.now() / 1000);
  const expires = issued + Math.floor(world.limits.cdnLinkMs / 1000);
  const query = `ex=${expires.toString(16)}&is=${issued.toString(16)}`;
  const url = `${world.origin}${path}?${query}&hm=${signLink(world, path, query)}`;
  const { description, ...rest } = file;
  return { ...rest, ...(description === null ? {} : { description }), url, proxy_url: url };
}

export function signLink(world: World, path: string, query: string): string {
  return createHmac("sha256", world.cdnSecret).update(`${path}?${query}`).digest("hex");
}

/** The scopes of a member in a channel as the decimal string that interactions carry. */
export function permissionString(world: World, userId: Snowflake, channel: Channel): string {
  return String(world.permissions(userId, channel));
}

export function canView(world: World, userId: Snowflake, channel: Channel): boolean {
  return has(world.permissions(userId, channel), Permission.viewChannel);
}

function reactionWire(reaction: Reaction, viewerId: Snowflake): Wire {
  return {
    emoji: reaction.emoji,
    count: reaction.users.length,
    count_details: { burst: 0, normal: reaction.users.length },
    me: reaction.users.includes(viewerId),
    me_burst: false,
    burst_colors: [],
  };
}

function interactionMetadata(world: World, source: MessageInteraction): Wire {
  const { user_id, triggered_by, ...fields } = source;
  return {
    ...fields,
    user: userWire(world.getUser(user_id)),
    authorizing_integration_owners: { "0": world.data.guildId },
    ...(triggered_by ? { triggering_interaction_metadata: interactionMetadata(world, triggered_by) } : {}),
  };
}

/** Discord numbers components in reading order where the sender did not. */
function numberComponents(components: readonly Component[]): Component[] {
  let next = 1;
  const number = (component: Component): Component => ({
    ...component,
    id: typeof component["id"] === "number" ? component["id"] : next++,
    ...(component.components ? { components: component.components.map(number) } : {}),
  });
  return components.map(number);
}
