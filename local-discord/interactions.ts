/** Interactions: made by people, answered by the bot within 3 seconds, followed up for 15 minutes. */
import { randomBytes } from "node:crypto";
import * as z from "zod";
import { assertNever } from "../shared/errors.ts";
import { invalidForm, refuse } from "./discord-error.ts";
import type { Interaction } from "./interaction-store.ts";
import { editMessage, removeMessage, sendMessage } from "./messages.ts";
import type { World } from "./state.ts";
import {
  isThread,
  type Message,
  MessageFlag,
  type MessageInteraction,
  OptionType,
  type Snowflake,
  type UploadedFile,
} from "./types.ts";
import { list, messageCreateSchema, messageEditSchema, oneOf, parseBody, text } from "./validate.ts";
import { autocompleteSchema } from "./validate-commands.ts";
import { channelWire, memberWithUserWire, messageWire, permissionString, type Wire } from "./wire.ts";

const InteractionKind = { command: 2, component: 3, autocomplete: 4, modal: 5 } as const;

const Callback = {
  message: 4,
  deferredMessage: 5,
  deferredUpdate: 6,
  update: 7,
  autocomplete: 8,
  modal: 9,
} as const;

const callbackSchema = z.object({ type: oneOf([1, 4, 5, 6, 7, 8, 9, 12]), data: z.unknown().optional() });

const modalSchema = z.object({
  custom_id: text(100, 1),
  title: text(45, 1),
  components: list(z.looseObject({ type: z.number().int() }), 5, 1),
});

/** Records it and tells the gateway. Nothing is checked here: the person's side did, as a client does. */
export function createInteraction(
  world: World,
  input: Pick<Interaction, "type" | "userId" | "channelId" | "data" | "messageId" | "triggeredBy">,
): Interaction {
  world.interactions.forgetOlderThan(world.now() - 2 * world.limits.interactionTokenMs);
  const interaction: Interaction = {
    ...input,
    id: world.nextId(),
    token: randomBytes(48).toString("base64url"),
    createdAt: world.now(),
    followUpIds: [],
    hasFailed: false,
  };
  world.interactions.add(interaction);
  world.emit({ type: "interaction-create", interaction });
  return interaction;
}

/**
 * Marks what nobody answered within 3 seconds: "The application did not respond". Discord never stands still; a machine
 * that sleeps does, and what was answered meanwhile could not be read.
 */
export function failUnanswered(world: World): void {
  for (const interaction of world.interactions.list()) {
    if (interaction.ackType !== undefined || interaction.hasFailed) continue;
    const since = Math.max(interaction.createdAt, world.interactions.wokeAt);
    if (world.now() - since <= world.limits.interactionAckMs) continue;
    interaction.hasFailed = true;
    world.emit({ type: "interaction-update", interaction });
  }
}

/** INTERACTION_CREATE with the fields that discord.js cannot do without. */
export function interactionWire(world: World, interaction: Interaction): Wire {
  const channel = world.getChannel(interaction.channelId);
  const source = findSource(world, interaction);
  const botId = world.data.applicationId;
  return {
    id: interaction.id,
    application_id: botId,
    type: interaction.type,
    data: interaction.data,
    guild: { id: world.data.guildId, locale: "en-US", features: [] },
    guild_id: world.data.guildId,
    channel: channelWire(world, channel, botId),
    channel_id: channel.id,
    member: {
      ...memberWithUserWire(world, interaction.userId),
      permissions: permissionString(world, interaction.userId, channel),
    },
    token: interaction.token,
    version: 1,
    app_permissions: permissionString(world, botId, channel),
    locale: "en-US",
    guild_locale: "en-US",
    entitlements: [],
    authorizing_integration_owners: { "0": world.data.guildId },
    context: 0,
    attachment_size_limit: world.limits.fileBytes,
    // What was pressed is shown to the bot whole, whatever its intents.
    ...(source ? { message: messageWire(world, source, { userId: botId, mayReadContent: true }) } : {}),
  };
}

/**
 * The first answer.
 * @returns the body for `with_response=true`
 * @throws DiscordError 10062 (unknown, or 3 seconds are over), 40060 (a second answer), 50035, 50083
 */
export function answerInteraction(
  world: World,
  path: { id: string; token: string },
  body: unknown,
  files: readonly UploadedFile[],
): Wire {
  const interaction = world.interactions.find(path.id);
  if (!interaction || interaction.token !== path.token) throw refuse(10062);
  if (interaction.ackType !== undefined) throw refuse(40060);
  failUnanswered(world);
  if (interaction.hasFailed) throw refuse(10062);
  const { type, data } = parseBody(callbackSchema, body);
  checkCallbackFits(interaction, type);
  const channel = world.getChannel(interaction.channelId);
  // "Callback in a thread that is archived meanwhile": refused, and Discord says that will not change.
  const isArchived = isThread(channel) && channel.thread_metadata.archived;
  if (isArchived && type !== Callback.autocomplete) throw refuse(50083);

  let message: Message | undefined;
  if (type === Callback.message) message = reply(world, interaction, data, files, false);
  else if (type === Callback.deferredMessage) {
    // A defer takes nothing but the flag EPHEMERAL.
    const flags = parseBody(z.object({ flags: z.number().int().nullish() }), data).flags ?? 0;
    message = reply(world, interaction, { flags: flags & MessageFlag.ephemeral }, [], true);
  } else if (type === Callback.update) {
    message = findSource(world, interaction);
    if (!message) throw refuse(10008);
    const patch = parseBody(messageEditSchema, data);
    editMessage(world, message, { userId: message.author_id, patch, files, isInteraction: true });
  } else if (type === Callback.autocomplete) {
    interaction.choices = parseBody(autocompleteSchema, data).choices;
  } else if (type === Callback.modal) {
    interaction.modal = parseBody(modalSchema, data);
  }
  interaction.ackType = type;
  if (message) interaction.responseId = message.id;
  else if (type === Callback.deferredUpdate && interaction.messageId !== undefined) {
    interaction.responseId = interaction.messageId;
  }
  world.emit({ type: "interaction-update", interaction });
  return {
    interaction: {
      id: interaction.id,
      type: interaction.type,
      ...(message
        ? {
            response_message_id: message.id,
            response_message_loading: (message.flags & MessageFlag.loading) !== 0,
            response_message_ephemeral: (message.flags & MessageFlag.ephemeral) !== 0,
          }
        : {}),
    },
    ...(message && type !== Callback.deferredMessage
      ? { resource: { type, message: wireFor(world, message) } }
      : {}),
  };
}

/**
 * The interaction behind a webhook address.
 * @throws DiscordError 10015 (unknown, or nothing was answered yet), 50027 (15 minutes are over)
 */
export function findByToken(world: World, applicationId: string, token: string): Interaction {
  if (applicationId !== world.data.applicationId) throw refuse(10015);
  const interaction = world.interactions.findByToken(token);
  if (!interaction || interaction.ackType === undefined) throw refuse(10015);
  if (world.now() - interaction.createdAt > world.limits.interactionTokenMs) throw refuse(50027);
  return interaction;
}

/** A further message. While a defer still waits, it is the answer to it (deprecated, but so it is). */
export function followUp(
  world: World,
  interaction: Interaction,
  body: unknown,
  files: readonly UploadedFile[],
): Message {
  const original =
    interaction.responseId === undefined ? undefined : findReply(world, interaction, interaction.responseId);
  if (original && (original.flags & MessageFlag.loading) !== 0) {
    const patch = parseBody(messageEditSchema, body);
    editMessage(world, original, { userId: original.author_id, patch, files, isInteraction: true });
    return original;
  }
  const message = reply(world, interaction, body, files, false);
  interaction.followUpIds.push(message.id);
  world.emit({ type: "interaction-update", interaction });
  return message;
}

/** @throws DiscordError 10008 */
export function getReply(world: World, interaction: Interaction, messageId: string): Message {
  const id = messageId === "@original" ? interaction.responseId : messageId;
  const isOurs = id !== undefined && (id === interaction.responseId || interaction.followUpIds.includes(id));
  const message = isOurs ? findReply(world, interaction, id) : undefined;
  if (!message) throw refuse(10008);
  return message;
}

export function editReply(
  world: World,
  message: Message,
  body: unknown,
  files: readonly UploadedFile[],
): Message {
  const patch = parseBody(messageEditSchema, body);
  editMessage(world, message, { userId: message.author_id, patch, files, isInteraction: true });
  return message;
}

export function deleteReply(world: World, message: Message): void {
  removeMessage(world, message);
}

/** A message as its own bot reads it. */
export function wireFor(world: World, message: Message): Wire {
  return messageWire(world, message, { userId: world.data.applicationId, mayReadContent: true });
}

function reply(
  world: World,
  interaction: Interaction,
  body: unknown,
  files: readonly UploadedFile[],
  isLoading: boolean,
): Message {
  const input = parseBody(messageCreateSchema, body);
  const isEphemeral = ((input.flags ?? 0) & MessageFlag.ephemeral) !== 0;
  return sendMessage(world, {
    userId: world.data.applicationId,
    channel: world.getChannel(interaction.channelId),
    input,
    files,
    reply: {
      interaction: messageInteraction(interaction),
      ...(isEphemeral ? { ephemeralFor: interaction.userId } : {}),
      isLoading,
    },
  });
}

/** What a message keeps of the interaction that it answers. */
export function messageInteraction(interaction: Interaction): MessageInteraction {
  const { id, type, userId, data, messageId, triggeredBy, responseId } = interaction;
  const commandType = data["type"];
  const target = data["target_id"];
  return {
    id,
    type,
    user_id: userId,
    ...(type === InteractionKind.command ? { name: commandName(data) } : {}),
    ...(type === InteractionKind.command && typeof commandType === "number"
      ? { command_type: commandType }
      : {}),
    ...(typeof target === "string" ? { target_message_id: target } : {}),
    ...(type === InteractionKind.component && messageId !== undefined
      ? { interacted_message_id: messageId }
      : {}),
    ...(responseId === undefined ? {} : { original_response_message_id: responseId }),
    ...(triggeredBy ? { triggered_by: triggeredBy } : {}),
  };
}

/** "thread list": the command with its sub-commands. */
export function commandName(data: Record<string, unknown>): string {
  const names = [String(data["name"])];
  let options = data["options"];
  while (Array.isArray(options)) {
    const inner: unknown = options.find(
      (option: { type: number }) => option.type <= OptionType.subCommandGroup,
    );
    if (inner === undefined) break;
    names.push(String(Reflect.get(Object(inner), "name")));
    options = Reflect.get(Object(inner), "options");
  }
  return names.join(" ");
}

function findReply(world: World, interaction: Interaction, id: Snowflake): Message | undefined {
  return world.passing.ephemerals.get(id) ?? world.findMessage(interaction.channelId, id);
}

function findSource(world: World, interaction: Interaction): Message | undefined {
  return interaction.messageId === undefined
    ? undefined
    : findReply(world, interaction, interaction.messageId);
}

function checkCallbackFits(interaction: Interaction, type: z.infer<typeof callbackSchema>["type"]): void {
  if (isCallbackFor(interaction, type)) return;
  throw invalidForm(
    ["type"],
    "INTERACTION_APPLICATION_COMMAND_INVALID_CALLBACK_TYPE",
    "Interaction callback type is invalid for this interaction",
  );
}

function isCallbackFor(interaction: Interaction, type: z.infer<typeof callbackSchema>["type"]): boolean {
  const kind = interaction.type;
  switch (type) {
    case 1:
    case 12:
      return false; // PONG answers PINGs over HTTP; activities are not ours
    case Callback.autocomplete:
      return kind === InteractionKind.autocomplete;
    case Callback.message:
    case Callback.deferredMessage:
      return kind !== InteractionKind.autocomplete;
    case Callback.deferredUpdate:
    case Callback.update:
      return interaction.messageId !== undefined && kind !== InteractionKind.autocomplete;
    case Callback.modal:
      return kind === InteractionKind.command || kind === InteractionKind.component;
    default:
      return assertNever(type);
  }
}
