/** Sending, editing, deleting and listing messages, with Discord's refusals in Discord's order. */
import { addFiles, keptFiles } from "./attachments.ts";
import { invalidForm, refuse } from "./discord-error.ts";
import { findMentions } from "./mentions.ts";
import { blankMessage, insertMessage } from "./message-store.ts";
import { has, Permission } from "./permissions.ts";
import { compareIds } from "./snowflake.ts";
import type { World } from "./state.ts";
import { joinThread, unarchiveForMessage } from "./threads.ts";
import {
  type Channel,
  CommandType,
  isThread,
  type Message,
  MessageFlag,
  type MessageInteraction,
  MessageType,
  type Snowflake,
  type UploadedFile,
} from "./types.ts";
import type { MessageInput, MessagePatch } from "./validate.ts";
import { hasV2Components } from "./validate-components.ts";
import { canView } from "./wire.ts";

const SETTABLE_FLAGS =
  MessageFlag.suppressEmbeds |
  MessageFlag.suppressNotifications |
  MessageFlag.voice |
  MessageFlag.componentsV2;

export type SendOptions = {
  userId: Snowflake;
  channel: Channel;
  input: MessageInput;
  files: readonly UploadedFile[];
  /** As {@link Message.extras}. */
  extras?: Record<string, unknown>;
  /** Interaction replies: no channel permissions, no nonce, other default mentions, other flags. */
  reply?: {
    interaction: MessageInteraction;
    ephemeralFor?: Snowflake;
    isLoading?: boolean;
  };
};

/**
 * Posts a message, bringing back an archived thread on the way (never a locked one).
 * @throws DiscordError 50001, 50013, 50035, 50006, 50083, 160002, 160005, 160006, 40005, 10008
 */
export function sendMessage(world: World, options: SendOptions): Message {
  const { userId, channel, input, files, reply } = options;
  const flags = (input.flags ?? 0) & SETTABLE_FLAGS;
  if (!reply) checkMaySend(world, userId, channel, input, files);
  const content = input.content ?? "";
  const embeds = input.embeds ?? [];
  const components = input.components ?? [];
  checkLayout({ content, embeds, components, flags });
  const isEmpty =
    content === "" && embeds.length === 0 && components.length === 0 && files.length === 0 && !options.extras;
  if (isEmpty && !reply?.isLoading) throw refuse(50006);
  const target = reply ? undefined : findReplyTarget(world, userId, channel, input);
  if (isThread(channel)) checkThreadTakesMessages(world, userId, channel, reply !== undefined);

  const known = reply ? undefined : findByNonce(world, userId, input);
  if (known) return known;

  if (isThread(channel) && channel.thread_metadata.archived) unarchiveForMessage(world, channel);
  const message: Message = {
    ...blankMessage(world, channel.id, userId),
    type: typeOf(reply?.interaction, target),
    content,
    embeds,
    components,
    attachments: addFiles(world, input.attachments, files),
    flags:
      flags |
      (reply?.ephemeralFor === undefined ? 0 : MessageFlag.ephemeral) |
      (reply?.isLoading ? MessageFlag.loading : 0),
    ...findMentions(world, {
      authorId: userId,
      channel,
      content,
      allowed: input.allowed_mentions,
      target,
      isWebhook: reply !== undefined,
    }),
    ...(input.nonce == null ? {} : { nonce: input.nonce }),
    ...(options.extras === undefined ? {} : { extras: options.extras }),
    ...(target ? { message_reference: { message_id: target.id, channel_id: channel.id } } : {}),
    ...(reply ? { webhook_id: world.data.applicationId, interaction: reply.interaction } : {}),
    ...(reply?.ephemeralFor === undefined ? {} : { ephemeral_for: reply.ephemeralFor }),
  };
  if (!reply && input.nonce != null) {
    const key = `${userId} ${input.nonce}`;
    world.data.nonces.delete(key); // the map stays in order of time
    world.data.nonces.set(key, {
      messageId: message.id,
      channelId: channel.id,
      at: world.now(),
    });
  }
  if (message.ephemeral_for === undefined && (message.flags & MessageFlag.suppressNotifications) === 0) {
    message.notified = message.mentions.filter((id) => id !== userId);
  }
  insertMessage(world, channel, message);
  if (isThread(channel) && message.ephemeral_for === undefined) {
    // Whoever writes in a thread, or is mentioned in it, becomes a member.
    for (const id of new Set([userId, ...message.mentions])) joinThread(world, channel, id);
  }
  return message;
}

/**
 * Changes a message. `isInteraction` is an edit through an interaction's token.
 * @throws DiscordError 50035, 50006, 50083, 160005
 */
export function editMessage(
  world: World,
  message: Message,
  options: {
    userId: Snowflake;
    patch: MessagePatch;
    files: readonly UploadedFile[];
    isInteraction?: boolean;
  },
): void {
  const { patch, files, userId } = options;
  const channel = world.getChannel(message.channel_id);
  if (isThread(channel)) {
    if (channel.thread_metadata.archived) throw refuse(50083);
    const mayManage = has(world.permissions(userId, channel), Permission.manageThreads);
    if (channel.thread_metadata.locked && !mayManage) throw refuse(160005);
  }
  const content = patch.content === undefined ? message.content : (patch.content ?? "");
  const embeds = patch.embeds === undefined ? message.embeds : (patch.embeds ?? []);
  const components = patch.components === undefined ? message.components : (patch.components ?? []);
  // SUPPRESS_EMBEDS can go both ways; the V2 flag can be set but never be taken away.
  const asked = patch.flags ?? message.flags & MessageFlag.suppressEmbeds;
  const flags =
    (message.flags & ~(MessageFlag.suppressEmbeds | MessageFlag.loading)) |
    (asked & (MessageFlag.suppressEmbeds | MessageFlag.componentsV2));
  checkLayout({ content, embeds, components, flags });
  const kept = keptFiles(message, patch.attachments);
  if (content === "" && embeds.length === 0 && components.length === 0 && kept.length + files.length === 0) {
    throw refuse(50006);
  }
  const wasLoading = (message.flags & MessageFlag.loading) !== 0;
  message.content = content;
  message.embeds = embeds;
  message.components = components;
  message.flags = flags;
  for (const file of message.attachments) if (!kept.includes(file)) world.files.remove(file.id);
  message.attachments = [...kept, ...addFiles(world, patch.attachments, files)];
  if (patch.content !== undefined || patch.allowed_mentions != null) {
    Object.assign(
      message,
      findMentions(world, {
        authorId: message.author_id,
        channel,
        content,
        allowed: patch.allowed_mentions,
        target: undefined,
        isWebhook: options.isInteraction === true,
      }),
    );
  }
  // The first edit of a deferred reply fills it in: Discord does not call that edited.
  if (!wasLoading) message.edited_timestamp = world.isoNow();
  message.rev = world.nextRev();
  world.emit({ type: "message-update", message });
}

/** @throws DiscordError 50013, 50021 */
export function deleteMessage(world: World, message: Message, userId: Snowflake): void {
  const channel = world.getChannel(message.channel_id);
  if (message.author_id !== userId && !has(world.permissions(userId, channel), Permission.manageMessages)) {
    throw refuse(50013);
  }
  if (message.type === MessageType.threadStarter) throw refuse(50021);
  removeMessage(world, message);
}

export function removeMessage(world: World, message: Message): void {
  for (const file of message.attachments) world.files.remove(file.id);
  if (message.ephemeral_for !== undefined) world.passing.dropEphemeral(message.id);
  else {
    world.messagesOf(message.channel_id).delete(message.id);
    const channel = world.findChannel(message.channel_id);
    if (channel && isThread(channel)) channel.message_count = Math.max(0, channel.message_count - 1);
  }
  world.emit({ type: "message-delete", message });
}

/** Newest first; with `after` the page is the messages closest to that id. */
export function listMessages(
  world: World,
  channelId: Snowflake,
  query: { limit: number; before?: string; after?: string; around?: string },
): Message[] {
  const all = [...world.messagesOf(channelId).values()];
  const { limit, before, after, around } = query;
  if (around !== undefined) {
    const older = all.filter((message) => compareIds(message.id, around) <= 0);
    const newer = all.filter((message) => compareIds(message.id, around) > 0);
    const half = Math.floor(limit / 2);
    return [...older.slice(-half - 1), ...newer.slice(0, half)].slice(-limit).reverse();
  }
  if (after !== undefined) {
    return all
      .filter((message) => compareIds(message.id, after) > 0)
      .slice(0, limit)
      .reverse();
  }
  const older = before === undefined ? all : all.filter((message) => compareIds(message.id, before) < 0);
  return older.slice(-limit).reverse();
}

function typeOf(interaction: MessageInteraction | undefined, target: Message | undefined): number {
  if (interaction?.type === 2) {
    return interaction.command_type === CommandType.message
      ? MessageType.contextMenuCommand
      : MessageType.chatInputCommand;
  }
  return target ? MessageType.reply : MessageType.default;
}

function checkMaySend(
  world: World,
  userId: Snowflake,
  channel: Channel,
  input: MessageInput,
  files: readonly UploadedFile[],
): void {
  const permissions = world.permissions(userId, channel);
  if (!canView(world, userId, channel)) throw refuse(50001);
  // In threads SEND_MESSAGES says nothing: they have a right of their own.
  const needed = isThread(channel) ? Permission.sendMessagesInThreads : Permission.sendMessages;
  if (!has(permissions, needed)) throw refuse(50013);
  if (files.length > 0 && !has(permissions, Permission.attachFiles)) throw refuse(50013);
  if ((input.embeds?.length ?? 0) > 0 && !has(permissions, Permission.embedLinks)) throw refuse(50013);
}

/** Locked needs MANAGE_THREADS; archived and locked stays shut even then until it is unarchived. */
function checkThreadTakesMessages(
  world: World,
  userId: Snowflake,
  thread: Channel & { thread_metadata: { archived: boolean; locked: boolean } },
  isInteraction: boolean,
): void {
  const { archived, locked } = thread.thread_metadata;
  if (locked && !has(world.permissions(userId, thread), Permission.manageThreads)) throw refuse(160005);
  // An interaction's answer does not bring a thread back, a message does.
  if (archived && (locked || isInteraction)) throw refuse(50083);
}

function checkLayout(message: {
  content: string;
  embeds: readonly unknown[];
  components: readonly { type: number }[];
  flags: number;
}): void {
  const isV2 = (message.flags & MessageFlag.componentsV2) !== 0;
  if (!isV2) {
    if (!hasV2Components(message.components)) return;
    throw invalidForm(["components", 0], "UNION_TYPE_CHOICES", 'Value of field "type" must be one of (1,).');
  }
  for (const [field, isUsed] of [
    ["content", message.content !== ""],
    ["embeds", message.embeds.length > 0],
  ] as const) {
    if (!isUsed) continue;
    throw invalidForm(
      [field],
      "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
      `The '${field}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2`,
    );
  }
}

function findReplyTarget(
  world: World,
  userId: Snowflake,
  channel: Channel,
  input: MessageInput,
): Message | undefined {
  const reference = input.message_reference;
  if (!reference) return undefined;
  if (!has(world.permissions(userId, channel), Permission.readMessageHistory)) throw refuse(160002);
  const target = world.findMessage(channel.id, reference.message_id);
  if (target || reference.fail_if_not_exists === false) return target;
  throw invalidForm(["message_reference"], "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message");
}

/**
 * `enforce_nonce`: the same author and nonce within five minutes is the same message, and 404 once that
 * message is deleted.
 */
function findByNonce(world: World, userId: Snowflake, input: MessageInput): Message | undefined {
  const nonces = world.data.nonces;
  const oldest = world.now() - world.limits.nonceWindowMs;
  for (const [key, entry] of nonces) {
    if (entry.at > oldest) break; // in order of time
    nonces.delete(key);
  }
  if (!input.enforce_nonce || input.nonce == null) return undefined;
  const known = nonces.get(`${userId} ${input.nonce}`);
  return known && world.getMessage(known.channelId, known.messageId);
}
