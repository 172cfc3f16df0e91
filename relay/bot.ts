/** The bot: discord.js' client, what it listens to, and the one boundary where errors of handlers are caught. */
import {
  type ChatInputCommandInteraction,
  Client,
  Events,
  GatewayIntentBits,
  type Interaction,
  MessageFlags,
  Routes,
} from "discord.js";
import { z } from "zod";
import { AppError } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { COMMANDS, type CommandContext, completions } from "./commands.ts";
import type { DiscordApi } from "./discord-api.ts";
import type { Sessions } from "./sessions.ts";
import { errorSentence } from "./texts.ts";

/** Message types that are a person's words: a plain message and a reply. Everything else is Discord's own. */
const WRITTEN_TYPES = new Set([0, 19]);

const rawMessageSchema = z.object({
  id: z.string(),
  channel_id: z.string(),
  content: z.string(),
  type: z.int(),
  webhook_id: z.string().optional(),
  author: z.object({ id: z.string(), bot: z.boolean().optional() }),
  attachments: z.array(z.unknown()).default([]),
});

export function createClient(apiUrl: string): Client {
  return new Client({
    intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.MessageContent],
    allowedMentions: { parse: [], repliedUser: false },
    enforceNonce: true,
    failIfNotExists: false,
    rest: {
      api: apiUrl,
      rejectOnRateLimit: ({ retryAfter, sublimitTimeout }) => Math.max(retryAfter, sublimitTimeout) > 60_000,
    },
  });
}

export interface BotOptions {
  discord: Client<true>;
  api: DiscordApi;
  sessions: Sessions;
  context: CommandContext;
  allowedUserIds: ReadonlySet<string>;
  guildId: string;
  log: Log;
}

/** Registers the commands, for this guild alone: there they are there at once. */
export async function registerCommands(discord: Client<true>, guildId: string): Promise<void> {
  const body = [...COMMANDS.values()].map((command) => command.definition);
  await discord.rest.put(Routes.applicationGuildCommands(discord.application.id, guildId), { body });
}

/** Listens to people until the client is destroyed. */
export function listen(options: BotOptions): void {
  const { discord, sessions, log } = options;
  const guarded = (what: string, work: Promise<void>) => {
    work.catch((error: unknown) => log.error({ err: error }, `could not handle ${what}`));
  };
  discord.on(Events.InteractionCreate, (interaction) =>
    guarded("an interaction", handleInteraction(interaction, options)),
  );
  // Raw, since discord.js keeps silent about messages in threads that it has not seen (archived before it started).
  discord.on(Events.Raw, (packet: { t?: string; d?: unknown }) => {
    if (packet.t === "MESSAGE_CREATE") guarded("a message", handleMessage(packet.d, options));
    if (packet.t === "THREAD_DELETE" || packet.t === "CHANNEL_DELETE") {
      guarded("a deleted thread", sessions.onThreadDeleted(z.object({ id: z.string() }).parse(packet.d).id));
    }
  });
}

async function handleMessage(
  data: unknown,
  { sessions, allowedUserIds, api, log }: BotOptions,
): Promise<void> {
  const message = rawMessageSchema.parse(data);
  const isPerson =
    message.author.bot !== true && message.webhook_id === undefined && WRITTEN_TYPES.has(message.type);
  if (!isPerson || !allowedUserIds.has(message.author.id) || !sessions.has(message.channel_id)) return;
  try {
    if (message.content === "") {
      if (message.attachments.length === 0)
        log.warn("a message came without its content: is the Message Content intent on?");
      throw new AppError("invalid_request", "Only text can be typed into a session.");
    }
    await sessions.type(message.channel_id, message.content, message.id);
  } catch (error) {
    if (!(error instanceof AppError)) log.error({ err: error }, "could not type a message");
    const hint =
      error instanceof AppError && error.code === "thread_ended" ? " Use /done to end this thread." : "";
    await api.send(message.channel_id, { content: `⚠️ ${errorSentence(error)}${hint}`, replyTo: message.id });
  }
}

async function handleInteraction(interaction: Interaction, options: BotOptions): Promise<void> {
  const isAllowed = options.allowedUserIds.has(interaction.user.id);
  if (interaction.isAutocomplete()) {
    await interaction.respond(isAllowed ? await completions(interaction, options.context) : []);
  } else if (interaction.isChatInputCommand()) {
    if (isAllowed) return runCommand(interaction, options);
    await interaction.reply({
      content: "You are not on the list of people who may use this bot (ALLOWED_USER_IDS).",
      flags: MessageFlags.Ephemeral,
    });
  }
}

async function runCommand(
  interaction: ChatInputCommandInteraction,
  { context, log }: BotOptions,
): Promise<void> {
  const command = COMMANDS.get(interaction.commandName);
  if (!command) throw new Error(`unknown command ${interaction.commandName}`);
  // Discord waits 3 s for the first answer; what follows has 15 minutes.
  await interaction.deferReply(command.isPrivate ? { flags: MessageFlags.Ephemeral } : {});
  try {
    await command.run(interaction, context);
  } catch (error) {
    if (!(error instanceof AppError))
      log.error({ err: error, command: interaction.commandName }, "a command failed");
    await interaction.editReply(`⚠️ ${errorSentence(error)}`);
  }
}
