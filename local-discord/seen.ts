/** What a person sees of messages and threads, as the page and the tests read it. Types alone: the page has them too. */
import type { CommandOption, Component, Embed, Snowflake } from "./types.ts";

export type SeenAttachment = {
  id: Snowflake;
  name: string;
  contentType: string;
  size: number;
  /** On the page's own host; it holds a signature, since pictures and links can't send the page's key. */
  url: string;
};
export type SeenButton = {
  customId: string | undefined;
  label: string;
  style: number;
  isDisabled: boolean;
  url: string | undefined;
};

/** How a message came about through an interaction: what was used, by whom. */
export type SeenInteraction = {
  user: string;
  /** The command with its sub-commands, without the slash; nothing for components and forms. */
  name: string | undefined;
  kind: "slash command" | "message command" | "component" | "form";
};

export type SeenMessage = {
  id: Snowflake;
  channelId: Snowflake;
  /** Discord's message type: 0 normal, 19 reply, 20 and 23 command reply, 4, 18 and 21 system. */
  type: number;
  author: { id: Snowflake; name: string; isBot: boolean };
  content: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  editedAt: number | null;
  embeds: Embed[];
  attachments: SeenAttachment[];
  /** All buttons in reading order; `components` holds the whole tree. */
  buttons: SeenButton[];
  components: Component[];
  reactions: { emoji: string; users: Snowflake[] }[];
  /** Who is pinged. */
  mentions: Snowflake[];
  isEveryonePinged: boolean;
  /** Sent with the flag that keeps it from notifying anybody. */
  isSilent: boolean;
  /** Whom it notified when it was posted; an edit notifies nobody. */
  notified: Snowflake[];
  isEphemeral: boolean;
  /** "… is thinking" */
  isLoading: boolean;
  replyTo: { id: Snowflake; author: string; content: string } | undefined;
  /** It replies to a message that is not there any more. */
  isReplyToDeleted: boolean;
  interaction: SeenInteraction | undefined;
  /** The thread that a system message speaks of. */
  threadId: Snowflake | undefined;
  rev: number;
};

export type SeenThread = {
  id: Snowflake;
  name: string;
  parentId: Snowflake;
  ownerId: Snowflake;
  isArchived: boolean;
  isLocked: boolean;
  archivedAt: number;
  autoArchiveMinutes: number;
  messageCount: number;
  lastMessageId: Snowflake | null;
};

/** A text field of a bot's form. */
export type FormInput = {
  customId: string;
  label: string;
  isLong: boolean;
  isRequired: boolean;
  value: string;
  placeholder: string;
  minLength: number;
  maxLength: number;
};

/** `name` goes on with the sub-command's name. Message commands have no options. */
export type SeenCommand = {
  kind: "slash" | "message";
  name: string;
  description: string;
  options: CommandOption[];
};

export type SeenUse = {
  id: Snowflake;
  channelId: Snowflake;
  /** The command used as a person writes it, or nothing for a component. */
  name: string | undefined;
  state: "waiting" | "acknowledged" | "failed";
  form: { title: string; inputs: FormInput[] } | undefined;
};

export type SeenChannel = { id: Snowflake; name: string; position: number; lastMessageId: Snowflake | null };

export type SeenRole = { id: Snowflake; name: string };

/** What the page is told: first everything there is, then every change. */
export type PageEvent =
  | {
      type: "hello";
      me: Snowflake;
      guildName: string;
      botName: string;
      /** In their order. */
      channels: SeenChannel[];
      users: { id: Snowflake; name: string; isBot: boolean }[];
      roles: SeenRole[];
      threads: SeenThread[];
      commands: SeenCommand[];
      isBotOnline: boolean;
    }
  | { type: "roles"; roles: SeenRole[] }
  /** Somebody types. This holds for ten seconds, or until they have written. */
  | { type: "typing"; channelId: Snowflake; userId: Snowflake }
  | { type: "message"; message: SeenMessage; isNew: boolean }
  | { type: "message-delete"; id: Snowflake; channelId: Snowflake }
  | { type: "channel"; channel: SeenChannel }
  /** Its threads are gone with it. */
  | { type: "channel-delete"; id: Snowflake }
  | { type: "thread"; thread: SeenThread }
  | { type: "thread-delete"; id: Snowflake }
  | { type: "commands"; commands: SeenCommand[] }
  | { type: "presence"; isBotOnline: boolean }
  | { type: "interaction"; interaction: SeenUse };
