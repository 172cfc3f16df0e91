/** Events of the world → gateway dispatches: name, intent that is needed, and what the bot gets to see. */
import { interactionWire } from "./interactions.ts";
import type { World, WorldEvent } from "./state.ts";
import { isThread, type Message, type Role } from "./types.ts";
import {
  canView,
  channelWire,
  gatewayMessageWire,
  memberWithUserWire,
  nonceWire,
  roleWire,
  threadMemberWire,
  userWire,
  type Wire,
} from "./wire.ts";

export const Intent = {
  guilds: 1 << 0,
  guildMembers: 1 << 1,
  guildPresences: 1 << 8,
  guildMessages: 1 << 9,
  guildMessageReactions: 1 << 10,
  guildMessageTyping: 1 << 11,
  messageContent: 1 << 15,
} as const;

/** Every bit that Discord gives a meaning to. */
export const KNOWN_INTENTS = 0b11_0011_0001_1111_1111_1111_1111;

/** `intent` 0: sent to every session. `data` is made per session, since content depends on its intents. */
export type Dispatch = { name: string; intent: number; data: (intents: number) => Wire };

export function dispatchesOf(world: World, event: WorldEvent): Dispatch[] {
  const botId = world.data.applicationId;
  const guild_id = world.data.guildId;
  const plain = (name: string, intent: number, data: Wire): Dispatch[] => [
    { name, intent, data: () => data },
  ];
  switch (event.type) {
    case "message-create":
      return messageDispatch(world, "MESSAGE_CREATE", event.message, nonceWire(event.message));
    case "message-update":
      return messageDispatch(world, "MESSAGE_UPDATE", event.message);
    case "message-delete": {
      const { id, channel_id } = event.message;
      if (!seesChannel(world, channel_id)) return [];
      return plain("MESSAGE_DELETE", Intent.guildMessages, { id, channel_id, guild_id });
    }
    case "thread-create": {
      if (!canView(world, botId, event.thread)) return [];
      return plain("THREAD_CREATE", Intent.guilds, {
        ...channelWire(world, event.thread, botId),
        ...(event.isNew ? { newly_created: true } : {}),
      });
    }
    case "thread-update":
      if (!canView(world, botId, event.thread)) return [];
      return plain("THREAD_UPDATE", Intent.guilds, channelWire(world, event.thread, botId));
    case "thread-delete": {
      const { id, parent_id, type } = event.thread;
      return plain("THREAD_DELETE", Intent.guilds, { id, guild_id, parent_id, type });
    }
    case "thread-member-update": {
      const member = event.thread.members.find((entry) => entry.user_id === event.userId);
      if (event.userId !== botId || !member) return [];
      return plain("THREAD_MEMBER_UPDATE", Intent.guilds, {
        ...threadMemberWire(event.thread, member),
        guild_id,
      });
    }
    case "thread-members-update":
      return threadMembersUpdate(world, event);
    case "channel-create":
    case "channel-update":
    case "channel-delete": {
      if (!canView(world, botId, event.channel)) return [];
      const name = { create: "CHANNEL_CREATE", update: "CHANNEL_UPDATE", delete: "CHANNEL_DELETE" } as const;
      const what = event.type.slice("channel-".length) as keyof typeof name;
      return plain(name[what], Intent.guilds, channelWire(world, event.channel));
    }
    case "reaction-add":
    case "reaction-remove":
      return reactionDispatch(world, event);
    case "role-create":
    case "role-update":
    case "role-delete":
      return roleDispatch(guild_id, event.type, event.role);
    case "member-add":
    case "member-update":
    case "member-remove":
      return memberDispatch(world, event);
    case "typing":
      return typingDispatch(world, event);
    case "interaction-create":
      return plain("INTERACTION_CREATE", 0, interactionWire(world, event.interaction));
    case "interaction-update":
    case "commands-update":
    case "presence":
      return []; // only the page shows these
    default:
      return event satisfies never;
  }
}

/** Every bot with the intent for servers hears of all roles. */
function roleDispatch(guild_id: string, type: string, role: Role): Dispatch[] {
  const isDeleted = type === "role-delete";
  const name = { "role-create": "CREATE", "role-update": "UPDATE", "role-delete": "DELETE" }[type];
  const data = { guild_id, ...(isDeleted ? { role_id: role.id } : { role: roleWire(role) }) };
  return [{ name: `GUILD_ROLE_${name}`, intent: Intent.guilds, data: () => data }];
}

function messageDispatch(world: World, name: string, message: Message, extra: Wire = {}): Dispatch[] {
  if (!seesChannel(world, message.channel_id)) return [];
  const userId = world.data.applicationId;
  const data = (intents: number) => {
    const mayReadContent = (intents & Intent.messageContent) !== 0;
    return { ...gatewayMessageWire(world, message, { userId, mayReadContent }), ...extra };
  };
  return [{ name, intent: Intent.guildMessages, data }];
}

function reactionDispatch(
  world: World,
  { type, userId, message, emoji }: WorldEvent & { type: "reaction-add" | "reaction-remove" },
): Dispatch[] {
  const isAdded = type === "reaction-add";
  const data: Wire = {
    user_id: userId,
    channel_id: message.channel_id,
    message_id: message.id,
    guild_id: world.data.guildId,
    emoji,
    burst: false,
    type: 0,
    ...(isAdded ? { member: memberWithUserWire(world, userId) } : {}),
  };
  const name = isAdded ? "MESSAGE_REACTION_ADD" : "MESSAGE_REACTION_REMOVE";
  return [{ name, intent: Intent.guildMessageReactions, data: () => data }];
}

/** A bot without the intent GUILD_MEMBERS gets only the updates of its own member. */
function memberDispatch(
  world: World,
  { type, userId }: WorldEvent & { type: "member-add" | "member-update" | "member-remove" },
): Dispatch[] {
  const guild_id = world.data.guildId;
  const names = {
    "member-add": "GUILD_MEMBER_ADD",
    "member-update": "GUILD_MEMBER_UPDATE",
    "member-remove": "GUILD_MEMBER_REMOVE",
  } as const;
  const isOwn = userId === world.data.applicationId && type === "member-update";
  const data: Wire = { ...memberWithUserWire(world, userId), guild_id };
  return [{ name: names[type], intent: isOwn ? Intent.guilds : Intent.guildMembers, data: () => data }];
}

function typingDispatch(world: World, { channelId, userId }: WorldEvent & { type: "typing" }): Dispatch[] {
  if (!seesChannel(world, channelId)) return [];
  const data: Wire = {
    channel_id: channelId,
    guild_id: world.data.guildId,
    user_id: userId,
    timestamp: Math.floor(world.now() / 1000),
    member: memberWithUserWire(world, userId),
  };
  return [{ name: "TYPING_START", intent: Intent.guildMessageTyping, data: () => data }];
}

/** READY: the fields that discord.js crashes without, and the address to resume at. */
export function readyWire(world: World, session: { id: string; resumeUrl: string }): Wire {
  return {
    v: 10,
    user: {
      ...userWire(world.getUser(world.data.applicationId)),
      verified: true,
      mfa_enabled: false,
      email: null,
    },
    guilds: [{ id: world.data.guildId, unavailable: true }],
    session_id: session.id,
    resume_gateway_url: session.resumeUrl,
    shard: [0, 1],
    application: {
      id: world.data.applicationId,
      flags: world.switches.isMessageContentGranted ? 1 << 19 : 0,
    },
    private_channels: [],
    relationships: [],
  };
}

/** GUILD_CREATE: active threads only, and of the members only the bot (no presences intent). */
export function guildCreateWire(world: World): Wire {
  const botId = world.data.applicationId;
  const channels = [...world.data.channels.values()].filter((channel) => canView(world, botId, channel));
  const threads = channels.filter(isThread).filter((thread) => !thread.thread_metadata.archived);
  return {
    id: world.data.guildId,
    name: world.data.guildName,
    icon: null,
    owner_id: world.data.ownerId,
    unavailable: false,
    large: false,
    joined_at: world.data.members.get(botId)?.joined_at,
    member_count: world.data.members.size,
    roles: [...world.data.roles.values()].map(roleWire),
    members: [memberWithUserWire(world, botId)],
    channels: channels.filter((channel) => !isThread(channel)).map((channel) => channelWire(world, channel)),
    threads: threads.map((thread) => channelWire(world, thread, botId)),
    emojis: [],
    stickers: [],
    features: [],
    presences: [],
    voice_states: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
    premium_tier: 0,
    preferred_locale: "en-US",
    nsfw_level: 0,
    system_channel_flags: 0,
    verification_level: 0,
    default_message_notifications: 0,
    explicit_content_filter: 0,
    mfa_level: 0,
    afk_timeout: 300,
    afk_channel_id: null,
    system_channel_id: null,
    rules_channel_id: null,
    public_updates_channel_id: null,
  };
}

function seesChannel(world: World, channelId: string): boolean {
  const channel = world.findChannel(channelId);
  return channel !== undefined && canView(world, world.data.applicationId, channel);
}

/** Without GUILD_MEMBERS a bot is told only of its own coming and going. */
function threadMembersUpdate(
  world: World,
  event: WorldEvent & { type: "thread-members-update" },
): Dispatch[] {
  const botId = world.data.applicationId;
  if (!canView(world, botId, event.thread)) return [];
  const isOwn = event.added.includes(botId) || event.removed.includes(botId);
  return [
    {
      name: "THREAD_MEMBERS_UPDATE",
      intent: isOwn ? Intent.guilds : Intent.guildMembers,
      data: () => ({
        id: event.thread.id,
        guild_id: world.data.guildId,
        member_count: Math.min(50, event.thread.members.length),
        added_members: event.thread.members
          .filter((member) => event.added.includes(member.user_id))
          .map((member) => ({
            ...threadMemberWire(event.thread, member),
            member: memberWithUserWire(world, member.user_id),
            presence: null,
          })),
        removed_member_ids: event.removed,
      }),
    },
  ];
}
