/** What a person sees: messages and threads as the page and the tests read them. */

import { pageFileUrl } from "./cdn.ts";
import type { SeenButton, SeenChannel, SeenInteraction, SeenMessage, SeenThread } from "./seen.ts";
import { compareIds } from "./snowflake.ts";
import type { World } from "./state.ts";
import {
  CommandType,
  type Component,
  type Message,
  MessageFlag,
  type MessageInteraction,
  MessageType,
  type Snowflake,
  type TextChannel,
  type Thread,
} from "./types.ts";

export function seenMessage(world: World, message: Message): SeenMessage {
  const author = world.getUser(message.author_id);
  const reference = message.message_reference;
  const target =
    reference?.message_id === undefined
      ? undefined
      : world.findMessage(reference.channel_id, reference.message_id);
  return {
    id: message.id,
    channelId: message.channel_id,
    type: message.type,
    author: { id: author.id, name: personName(world, author.id), isBot: author.bot },
    content: message.content,
    createdAt: Date.parse(message.timestamp),
    editedAt: message.edited_timestamp === null ? null : Date.parse(message.edited_timestamp),
    embeds: (message.flags & MessageFlag.suppressEmbeds) !== 0 ? [] : message.embeds,
    attachments: message.attachments.map((file) => ({
      id: file.id,
      name: file.filename,
      contentType: file.content_type,
      size: file.size,
      url: pageFileUrl(world, file.id, file.filename),
    })),
    buttons: findButtons(message.components),
    components: message.components,
    reactions: message.reactions.map((entry) => ({ emoji: entry.emoji.name, users: [...entry.users] })),
    mentions: [...message.mentions],
    isEveryonePinged: message.mention_everyone,
    isSilent: (message.flags & MessageFlag.suppressNotifications) !== 0,
    notified: [...(message.notified ?? [])],
    isEphemeral: message.ephemeral_for !== undefined,
    isLoading: (message.flags & MessageFlag.loading) !== 0,
    replyTo: target && {
      id: target.id,
      author: personName(world, target.author_id),
      content: target.content,
    },
    isReplyToDeleted: message.type === MessageType.reply && target === undefined,
    interaction: message.interaction && seenInteraction(world, message.interaction),
    threadId:
      (message.flags & MessageFlag.hasThread) !== 0
        ? message.id
        : message.type === 18
          ? reference?.channel_id
          : undefined,
    rev: message.rev,
  };
}

function seenInteraction(world: World, interaction: MessageInteraction): SeenInteraction {
  const { type, name, command_type: commandType } = interaction;
  const user = personName(world, interaction.user_id);
  if (type === 2) {
    return { user, name, kind: commandType === CommandType.message ? "message command" : "slash command" };
  }
  return { user, name: undefined, kind: type === 3 ? "component" : "form" };
}

export function seenChannel({ id, name, position, last_message_id }: TextChannel): SeenChannel {
  return { id, name, position, lastMessageId: last_message_id };
}

export function seenThread(thread: Thread): SeenThread {
  const meta = thread.thread_metadata;
  return {
    id: thread.id,
    name: thread.name,
    parentId: thread.parent_id,
    ownerId: thread.owner_id,
    isArchived: meta.archived,
    isLocked: meta.locked,
    archivedAt: Date.parse(meta.archive_timestamp),
    autoArchiveMinutes: meta.auto_archive_duration,
    messageCount: thread.message_count,
    lastMessageId: thread.last_message_id,
  };
}

/** Messages of a channel in order, with the person's own ephemeral ones among them. */
export function seenMessages(world: World, channelId: Snowflake, userId?: Snowflake): SeenMessage[] {
  const shown = [...(world.data.messages.get(channelId)?.values() ?? [])];
  const own = [...world.passing.ephemerals.values()].filter(
    (message) => message.channel_id === channelId && message.ephemeral_for === userId,
  );
  if (own.length > 0) shown.push(...own);
  shown.sort((a, b) => compareIds(a.id, b.id));
  return shown.map((message) => seenMessage(world, message));
}

export function personName(world: World, userId: Snowflake): string {
  const user = world.data.users.get(userId);
  return user?.global_name ?? user?.username ?? userId;
}

function findButtons(components: readonly Component[]): SeenButton[] {
  return components.flatMap((entry) => {
    const accessory = entry["accessory"] as Component | undefined;
    const inside = [...(entry.components ?? []), ...(accessory ? [accessory] : [])];
    if (entry.type !== 2) return findButtons(inside);
    return [
      {
        customId: typeof entry["custom_id"] === "string" ? entry["custom_id"] : undefined,
        label: buttonLabel(entry),
        style: typeof entry["style"] === "number" ? entry["style"] : 2,
        isDisabled: entry["disabled"] === true,
        url: typeof entry["url"] === "string" ? entry["url"] : undefined,
      },
    ];
  });
}

function buttonLabel(button: Component): string {
  const emoji = button["emoji"] as { name?: unknown } | undefined;
  return [emoji?.name, button["label"]].filter((part) => typeof part === "string").join(" ");
}
