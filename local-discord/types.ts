/** What local Discord keeps: guild, people, channels, threads, messages, commands. Field names are Discord's. */

export type Snowflake = string;

export type User = { id: Snowflake; username: string; global_name: string | null; bot: boolean };
/** `isManaged`: the role belongs to an application, and nobody can delete it. */
export type Role = {
  id: Snowflake;
  name: string;
  permissions: string;
  position: number;
  isManaged?: boolean;
};
export type Member = { user_id: Snowflake; roles: Snowflake[]; joined_at: string };

/** `type` 0 is a role's overwrite, 1 a member's. */
export type Overwrite = { id: Snowflake; type: 0 | 1; allow: string; deny: string };

export const ChannelType = { text: 0, announcement: 5, announcementThread: 10, publicThread: 11 } as const;

export type TextChannel = {
  id: Snowflake;
  /** 5: a channel of announcements, whose threads are of the type 10. */
  type: 0 | 5;
  name: string;
  topic: string | null;
  position: number;
  permission_overwrites: Overwrite[];
  last_message_id: Snowflake | null;
  rate_limit_per_user: number;
};

export type ThreadMetadata = {
  archived: boolean;
  archive_timestamp: string;
  auto_archive_duration: number;
  locked: boolean;
  create_timestamp: string;
};

export type ThreadMember = { user_id: Snowflake; join_timestamp: string };

export type Thread = {
  id: Snowflake;
  type: 10 | 11;
  name: string;
  parent_id: Snowflake;
  owner_id: Snowflake;
  thread_metadata: ThreadMetadata;
  message_count: number;
  total_message_sent: number;
  last_message_id: Snowflake | null;
  rate_limit_per_user: number;
  members: ThreadMember[];
};

export type Channel = TextChannel | Thread;

export function isThread(channel: Channel): channel is Thread {
  return channel.type !== ChannelType.text && channel.type !== ChannelType.announcement;
}

/** A usual one, which everybody may see. */
export function textChannel(id: Snowflake, name: string, position: number): TextChannel {
  return {
    id,
    type: ChannelType.text,
    name,
    topic: null,
    position,
    permission_overwrites: [],
    last_message_id: null,
    rate_limit_per_user: 0,
  };
}

export const MessageType = {
  default: 0,
  channelNameChange: 4,
  threadCreated: 18,
  reply: 19,
  chatInputCommand: 20,
  threadStarter: 21,
  contextMenuCommand: 23,
} as const;

export const MessageFlag = {
  suppressEmbeds: 1 << 2,
  hasThread: 1 << 5,
  ephemeral: 1 << 6,
  loading: 1 << 7,
  suppressNotifications: 1 << 12,
  voice: 1 << 13,
  componentsV2: 1 << 15,
} as const;

export type Attachment = {
  id: Snowflake;
  filename: string;
  description: string | null;
  content_type: string;
  size: number;
};

export type EmbedField = { name: string; value: string; inline?: boolean | undefined };
export type Embed = {
  title?: string | undefined;
  description?: string | undefined;
  url?: string | undefined;
  timestamp?: string | undefined;
  color?: number | undefined;
  footer?: { text: string; icon_url?: string | undefined } | undefined;
  image?: { url: string } | undefined;
  thumbnail?: { url: string } | undefined;
  author?: { name: string; url?: string | undefined; icon_url?: string | undefined } | undefined;
  fields?: EmbedField[] | undefined;
};

/** A component as it was sent, checked for Discord's limits; unknown keys are kept. */
export type Component = { type: number; components?: Component[]; [key: string]: unknown };

export type Emoji = { id: Snowflake | null; name: string };
export type Reaction = { emoji: Emoji; users: Snowflake[] };

export type MessageReference = { message_id?: Snowflake; channel_id: Snowflake };

export type Message = {
  id: Snowflake;
  channel_id: Snowflake;
  type: number;
  author_id: Snowflake;
  content: string;
  timestamp: string;
  edited_timestamp: string | null;
  mention_everyone: boolean;
  /** Users that the message pings: named in it and allowed by its `allowed_mentions`. */
  mentions: Snowflake[];
  mention_roles: Snowflake[];
  attachments: Attachment[];
  embeds: Embed[];
  components: Component[];
  reactions: Reaction[];
  flags: number;
  nonce?: string | number;
  message_reference?: MessageReference;
  /** What only people's clients put into a message: a poll, stickers, a forwarded message, as Discord sends it. */
  extras?: Record<string, unknown>;
  /** Set on interaction replies: Discord sends them as webhook messages of the application. */
  webhook_id?: Snowflake;
  interaction?: MessageInteraction;
  /** Whom it notified when it was posted. */
  notified?: Snowflake[];
  /** Only this person sees it; never part of a channel's history. */
  ephemeral_for?: Snowflake;
  /** Grows with every change: lets the page tell an old copy from a new one. */
  rev: number;
};

/** The interaction that a message answers. */
export type MessageInteraction = {
  id: Snowflake;
  /** 2 command, 3 component, 5 modal. */
  type: number;
  user_id: Snowflake;
  /** Of commands, with the sub-commands. */
  name?: string;
  command_type?: number;
  /** What a message command was used on. */
  target_message_id?: Snowflake;
  /** The message whose component was used. */
  interacted_message_id?: Snowflake;
  /** Of follow-ups: the first answer. */
  original_response_message_id?: Snowflake;
  /** Of forms: what opened them. */
  triggered_by?: MessageInteraction;
};

export type CommandChoice = { name: string; value: string | number };
export type CommandOption = {
  type: number;
  name: string;
  description: string;
  required?: boolean;
  autocomplete?: boolean;
  choices?: CommandChoice[];
  options?: CommandOption[];
  min_value?: number;
  max_value?: number;
  min_length?: number;
  max_length?: number;
  channel_types?: number[];
};

export type Command = {
  id: Snowflake;
  /** Absent for a global command. */
  guild_id?: Snowflake;
  type: number;
  name: string;
  description: string;
  options: CommandOption[];
  default_member_permissions: string | null;
  nsfw: boolean;
  version: Snowflake;
};

export const CommandType = { slash: 1, user: 2, message: 3 } as const;

export const OptionType = {
  subCommand: 1,
  subCommandGroup: 2,
  string: 3,
  integer: 4,
  boolean: 5,
  user: 6,
  channel: 7,
  role: 8,
  mentionable: 9,
  number: 10,
  attachment: 11,
} as const;

/** A file on its way in, from the bot (multipart) or from a person. */
export type UploadedFile = { field: string; name: string; type: string; data: Uint8Array };
