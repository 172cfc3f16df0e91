/** The bot: discord.js' client, what it listens to, and the one boundary where errors of handlers are caught. */
import {
  type ChatInputCommandInteraction,
  Client,
  Events,
  GatewayIntentBits,
  type Interaction,
  type MessageContextMenuCommandInteraction,
  MessageFlags,
  type RepliableInteraction,
  Routes,
} from "discord.js";
import * as z from "zod";
import { AppError } from "../../shared/errors.ts";
import { type DiscordId, knownDiscordId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Right } from "../../shared/rights.ts";
import type { ActionContext, LetIn } from "../actions/frame/action.ts";
import type { Access } from "../threads/access.ts";
import type { ActiveThreads } from "../threads/active-threads.ts";
import type { AllMessages } from "../threads/all-messages.ts";
import type { EndedThreads } from "../threads/ended.ts";
import type { Inputs } from "../threads/inputs.ts";
import type { ServerRoles } from "../threads/server-roles.ts";
import { BRANCH, branchDefinition, branchFrom } from "./agent-branch.ts";
import { detailsDefinition, showDetails } from "./agent-details.ts";
import { parseChannel, placeOf } from "./api.ts";
import type { CommandContext } from "./commands/command.ts";
import { completions } from "./commands/completion.ts";
import { COMMANDS } from "./commands.ts";
import { keepWithinLimits } from "./limits.ts";
import { messageSchema } from "./message-schema.ts";
import { type ComponentInteraction, press, rightToPress, submit } from "./press.ts";
import { sentenceOf } from "./refusals.ts";
import type { ThreadMaker } from "./thread-maker.ts";

/** Longer than this nobody waits for a rate limit of Discord's: the call fails, and is tried again later. */
const MAX_RATE_LIMIT_WAIT_MS = 60_000;

export function createClient(apiUrl: string): Client {
  const client = new Client({
    intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.MessageContent],
    allowedMentions: { parse: [], repliedUser: false },
    enforceNonce: true,
    failIfNotExists: false,
    rest: {
      api: apiUrl,
      rejectOnRateLimit: ({ retryAfter, sublimitTimeout }) =>
        Math.max(retryAfter, sublimitTimeout) > MAX_RATE_LIMIT_WAIT_MS,
    },
  });
  keepWithinLimits(client.rest);
  return client;
}

export interface BotOptions {
  discord: Client<true>;
  inputs: Inputs;
  ended: EndedThreads;
  channelMessages: AllMessages;
  context: CommandContext;
  threadMaker: ThreadMaker;
  access: Access;
  serverRoles: ServerRoles;
  /** Somebody wrote or pressed something somewhere; `name` is what Discord calls them. */
  met: (discordId: string, name: string, channelId: string | null) => void;
  activeThreads: ActiveThreads;
  /** The gateway has made a new session: what happened in between was not told. */
  onReconnected: () => Promise<void>;
  log: Log;
}

/** Registers the commands, for this guild alone: there they are there at once. */
export async function registerCommands(discord: Client<true>, guildId: string): Promise<void> {
  const body = [
    ...[...COMMANDS.values()].map((command) => command.definition),
    detailsDefinition,
    branchDefinition,
  ];
  await discord.rest.put(Routes.applicationGuildCommands(discord.application.id, guildId), { body });
}

/** Listens to people until the client is destroyed. */
export function listen(options: BotOptions): void {
  const { discord, inputs, log, onReconnected } = options;
  const held = { hold: 0 };
  const guarded = (what: string, work: Promise<void>) => {
    work.catch((error: unknown) => log.error({ err: error }, `could not handle ${what}`));
  };
  discord.on(Events.InteractionCreate, (interaction) =>
    guarded("an interaction", handleInteraction(interaction, options)),
  );
  // Raw, since discord.js keeps silent about messages in threads that it has not seen (archived before it started).
  discord.on(Events.Raw, (packet: { t?: string; d?: unknown }) => {
    // A new session at Discord: what was written since the last one comes first, and has to be looked up.
    if (packet.t === "READY") held.hold = inputs.hold();
    guarded(packet.t ?? "an event", handleEvent(packet.t, packet.d, options));
  });
  const tellRoles = () => guarded("a change of the server's roles", options.serverRoles.tell());
  // discord.js's own events: by then the list that is told has the change.
  discord.on(Events.GuildRoleCreate, tellRoles);
  discord.on(Events.GuildRoleUpdate, tellRoles);
  discord.on(Events.GuildRoleDelete, tellRoles);
  discord.on(Events.ShardReady, () => {
    const { hold } = held;
    guarded(
      "a new connection",
      onReconnected().then(() => inputs.release(hold)),
    );
  });
}

async function handleEvent(name: string | undefined, data: unknown, options: BotOptions): Promise<void> {
  const { access, inputs, channelMessages, context, threadMaker, met } = options;
  options.activeThreads.hear(name, data);
  const { threads, endings } = context;
  switch (name) {
    case "MESSAGE_CREATE": {
      const message = messageSchema.parse(data);
      const { id, username, global_name } = message.author;
      if (message.member) access.note(id, message.member.roles);
      if (username !== undefined) met(id, global_name ?? username, message.channel_id);
      return (channelMessages.find(message.channel_id) ?? inputs).take(message);
    }
    case "MESSAGE_UPDATE": {
      // Discord says the same when it adds a link's preview to a message.
      const message = messageSchema.safeParse(data).data;
      if (!message?.edited_timestamp) return;
      if (message.member) access.note(message.author.id, message.member.roles);
      return (channelMessages.find(message.channel_id) ?? inputs).change(message);
    }
    case "MESSAGE_DELETE": {
      const { id, channel_id } = z.object({ id: knownDiscordId, channel_id: knownDiscordId }).parse(data);
      const inChannel = channelMessages.find(channel_id);
      if (inChannel) return inChannel.withdraw(id);
      const thread = threads.find(channel_id);
      thread?.delivery.noteDeleted(id);
      return thread ? inputs.withdraw(channel_id, id) : undefined;
    }
    case "MESSAGE_DELETE_BULK": {
      const { ids, channel_id } = z
        .object({ ids: z.array(knownDiscordId), channel_id: knownDiscordId })
        .parse(data);
      for (const id of ids) await handleEvent("MESSAGE_DELETE", { id, channel_id }, options);
      return;
    }
    case "THREAD_CREATE": {
      // Discord says the same of a thread that the bot was added to; only a new one may be nobody's.
      const { newly_created } = z.object({ newly_created: z.boolean().optional() }).parse(data);
      return newly_created === true ? threadMaker.noteCreated(parseChannel(data)) : undefined;
    }
    case "THREAD_UPDATE":
      return threads.onDiscordThreadChanged(parseChannel(data));
    case "THREAD_DELETE":
      return endings.onDiscordThreadDeleted(z.object({ id: knownDiscordId }).parse(data).id);
    case "GUILD_ROLE_DELETE":
      return access.forgetRole(z.object({ role_id: z.string() }).parse(data).role_id);
    case "GUILD_ROLE_UPDATE":
      return context.refreshChannels(); // the bot may have it, and with it may write where it could not
    case "GUILD_MEMBER_UPDATE": {
      const { user } = z.object({ user: z.object({ id: z.string() }) }).parse(data);
      return user.id === options.discord.user.id ? context.refreshChannels() : undefined;
    }
    case "CHANNEL_DELETE":
    case "CHANNEL_UPDATE": {
      const { id } = z.object({ id: knownDiscordId }).parse(data);
      return context.channels.find(id) && context.refreshChannels();
    }
    default:
      return; // nothing of ours
  }
}

async function handleInteraction(interaction: Interaction, bot: BotOptions): Promise<void> {
  const { user } = interaction;
  bot.access.note(user.id, rolesOf(interaction));
  // All that follows is asked of the sidecar in this person's name.
  const options = { ...bot, context: { ...bot.context, vm: bot.context.vm.as(user.id) } };
  bot.met(user.id, user.displayName, interaction.channelId);
  const right = rightFor(interaction);
  try {
    bot.access.judge(user.id, right, placeOf(interaction));
  } catch (error) {
    if (interaction.isAutocomplete()) await interaction.respond([]);
    else if (interaction.isRepliable()) await refuse(interaction, error);
    return;
  }
  if (interaction.isAutocomplete())
    await interaction.respond(await completions(interaction, options.context));
  else if (isComponent(interaction)) await press(interaction, actionContext(options));
  else if (interaction.isModalSubmit()) await submit(interaction, actionContext(options));
  else if (interaction.isMessageContextMenuCommand()) await runMessageCommand(interaction, options);
  else if (interaction.isChatInputCommand()) await runCommand(interaction, options);
}

/** The roles that the person has at Discord now. */
function rolesOf({ member }: Interaction): readonly string[] {
  if (!member) return [];
  return Array.isArray(member.roles) ? member.roles : [...member.roles.cache.keys()];
}

/** The right that a person needs for an interaction. */
function rightFor(interaction: Interaction): Right {
  if (isComponent(interaction) || interaction.isModalSubmit()) return rightToPress(interaction);
  if (interaction.isMessageContextMenuCommand()) return interaction.commandName === BRANCH ? "run" : "read";
  if (!interaction.isChatInputCommand() && !interaction.isAutocomplete()) return "read";
  const right = COMMANDS.get(interaction.commandName)?.right ?? "roles";
  return typeof right === "string" ? right : right(interaction);
}

async function refuse(interaction: RepliableInteraction, error: unknown): Promise<void> {
  await interaction.reply({ content: sentenceOf(error), flags: MessageFlags.Ephemeral });
}

function actionContext(options: BotOptions): ActionContext {
  const { context, inputs, ended, channelMessages, log } = options;
  const takeAfterAll = async (channelId: DiscordId, messageId: DiscordId, letIn?: LetIn) => {
    const inChannel = channelMessages.find(channelId);
    await inChannel?.takeAfterAll(messageId, letIn);
    return inChannel !== undefined;
  };
  return { ...context, inputs, ended, channels: { takeAfterAll }, log };
}

function isComponent(interaction: Interaction): interaction is ComponentInteraction {
  return interaction.isButton() || interaction.isStringSelectMenu();
}

async function runCommand(
  interaction: ChatInputCommandInteraction,
  { context, log }: BotOptions,
): Promise<void> {
  const command = COMMANDS.get(interaction.commandName);
  if (!command) throw new Error(`unknown command ${interaction.commandName}`);
  // Discord waits 3 s for the first answer; what follows has 15 minutes.
  const { isPrivate } = command;
  const isEphemeral = typeof isPrivate === "boolean" ? isPrivate : isPrivate(interaction);
  await interaction.deferReply(isEphemeral ? { flags: MessageFlags.Ephemeral } : {});
  await answering(interaction, log, () => command.run(interaction, context));
}

/** A command in the menu of a message. */
async function runMessageCommand(
  interaction: MessageContextMenuCommandInteraction,
  { context, log }: BotOptions,
): Promise<void> {
  await interaction.deferReply({ flags: MessageFlags.Ephemeral });
  const run = interaction.commandName === BRANCH ? branchFrom : showDetails;
  await answering(interaction, log, () => run(interaction, context));
}

/** What goes wrong is the command's answer. */
async function answering(
  interaction: ChatInputCommandInteraction | MessageContextMenuCommandInteraction,
  log: Log,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof AppError))
      log.error({ err: error, command: interaction.commandName }, "a command failed");
    await interaction.editReply(`⚠️ ${sentenceOf(error)}`);
  }
}
