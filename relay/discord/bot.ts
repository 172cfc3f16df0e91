/** The bot: discord.js' client, what it listens to, and the one boundary where errors of handlers are caught. */
import {
  type ChatInputCommandInteraction,
  Client,
  Events,
  GatewayIntentBits,
  type Interaction,
  type MessageContextMenuCommandInteraction,
  MessageFlags,
  type ModalSubmitInteraction,
  Routes,
} from "discord.js";
import * as z from "zod";
import { AppError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { VmThread } from "../sidecar/vm.ts";
import type { ChannelMessages } from "../threads/channel-messages.ts";
import type { EndedThreads } from "../threads/ended.ts";
import type { Inputs } from "../threads/inputs.ts";
import { BRANCH, branchDefinition, branchFrom } from "./agent-branch.ts";
import {
  type ComponentInteraction,
  firstAnswer,
  isAgentButton,
  pressAgentButton,
  refuse,
} from "./agent-buttons.ts";
import { detailsDefinition, showDetails } from "./agent-details.ts";
import { submitForm } from "./agent-forms.ts";
import { parseChannel } from "./api.ts";
import { parseButton } from "./buttons.ts";
import { parseCommandButton, pressCommandButton } from "./command-buttons.ts";
import { type CommandContext, tellWait } from "./commands/command.ts";
import { completions } from "./commands/completion.ts";
import { COMMANDS } from "./commands.ts";
import { keepWithinLimits } from "./limits.ts";
import { messageSchema } from "./message-schema.ts";
import { sentenceOf } from "./refusals.ts";
import type { ThreadMaker } from "./thread-maker.ts";

/** Longer than this nobody waits for a rate limit of Discord's: the call fails, and is tried again later. */
const MAX_RATE_LIMIT_WAIT_MS = 60_000;
const NOT_ALLOWED = "You are not on the list of people who may use this bot (ALLOWED_USER_IDS).";

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
  /** The bot's own. */
  channelId: string;
  channelMessages: ChannelMessages;
  context: CommandContext;
  threadMaker: ThreadMaker;
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
  discord.on(Events.ShardReady, () => {
    const { hold } = held;
    guarded(
      "a new connection",
      onReconnected().then(() => inputs.release(hold)),
    );
  });
}

async function handleEvent(name: string | undefined, data: unknown, options: BotOptions): Promise<void> {
  const { inputs, channelId, channelMessages, context, threadMaker } = options;
  const { threads, endings } = context;
  switch (name) {
    case "MESSAGE_CREATE": {
      const message = messageSchema.parse(data);
      return message.channel_id === channelId ? channelMessages.take(message) : inputs.take(message);
    }
    case "MESSAGE_UPDATE": {
      // Discord says the same when it adds a link's preview to a message.
      const message = messageSchema.safeParse(data).data;
      if (!message?.edited_timestamp) return;
      if (message.channel_id === channelId) return channelMessages.change(message);
      return inputs.change(message);
    }
    case "MESSAGE_DELETE": {
      const { id, channel_id } = z.object({ id: z.string(), channel_id: z.string() }).parse(data);
      if (channel_id === channelId) return channelMessages.withdraw(id);
      const thread = threads.find(channel_id);
      thread?.delivery.noteDeleted(id);
      return thread ? inputs.withdraw(channel_id, id) : undefined;
    }
    case "MESSAGE_DELETE_BULK": {
      const { ids, channel_id } = z.object({ ids: z.array(z.string()), channel_id: z.string() }).parse(data);
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
      return endings.onDiscordThreadDeleted(z.object({ id: z.string() }).parse(data).id);
    default:
      return; // nothing of ours
  }
}

async function handleInteraction(interaction: Interaction, options: BotOptions): Promise<void> {
  const isAllowed = options.context.allowedUserIds.has(interaction.user.id);
  if (interaction.isAutocomplete()) {
    await interaction.respond(isAllowed ? await completions(interaction, options.context) : []);
  } else if (interaction.isRepliable()) {
    if (!isAllowed) await interaction.reply({ content: NOT_ALLOWED, flags: MessageFlags.Ephemeral });
    else if (isComponent(interaction)) await pressButton(interaction, options);
    else if (interaction.isModalSubmit())
      await acknowledged(interaction, options, () => submitForm(interaction, threadOf(interaction, options)));
    else if (interaction.isMessageContextMenuCommand()) await runMessageCommand(interaction, options);
    else if (interaction.isChatInputCommand()) await runCommand(interaction, options);
  }
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

async function pressButton(
  interaction: ComponentInteraction,
  { context, inputs, ended, channelId, channelMessages, log }: BotOptions,
): Promise<void> {
  const ofCommand = parseCommandButton(interaction.customId);
  if (ofCommand) {
    const press = () => pressCommandButton(interaction, ofCommand, context, log);
    return acknowledged(interaction, { log }, press);
  }
  const pressed = parseButton(interaction.customId);
  const threadId = interaction.channelId;
  const first = pressed ? firstAnswer(pressed) : "update";
  if (first === "reply") await interaction.deferReply();
  else if (first === "private reply") await interaction.deferReply({ flags: MessageFlags.Ephemeral });
  else if (first === "update") await interaction.deferUpdate();
  try {
    if (!pressed) throw new AppError("invalid_request", "This button is of another version of threadmux.");
    if (isAgentButton(pressed)) {
      await pressAgentButton(interaction, pressed, threadOf(interaction, { context }));
      return;
    }
    switch (pressed.kind) {
      case "key":
        for (const key of pressed.keys) {
          const thread = context.threads.find(threadId);
          await (thread ? thread.pressKey(key) : context.vm.thread(threadId).send({ key }));
        }
        return;
      case "done": {
        if (!context.threads.has(threadId))
          throw new AppError("thread_ended", "This thread is over already.");
        await context.endings.kill(threadId, (text) => interaction.editReply(text));
        return;
      }
      case "send":
        if (threadId === channelId) await channelMessages.takeAfterAll(pressed.messageId);
        else await inputs.sendAfterAll(threadId, pressed.messageId);
        await interaction.editReply({ content: "✅ Sent.", components: [] });
        return;
      case "type-anyway":
        await inputs.typeAnyway(threadId, pressed.messageId);
        await interaction.editReply({ content: "✅ Typed.", components: [] });
        return;
      case "resume-send":
        await inputs.resumeAndSend(threadId, pressed.messageId, `discord:${interaction.user.id}`);
        await interaction.editReply({ content: "✅ It goes on, with your message.", components: [] });
        return;
      case "ended-here":
        await ended.goOnHere({ threadId, messageId: pressed.messageId, userId: interaction.user.id });
        await interaction.editReply({ content: "▶ It goes on here.", components: [] });
        return;
      case "ended-new": {
        const { messageId } = pressed;
        const wait = tellWait(interaction, context.now);
        const made = await ended.startNew({ threadId, messageId, userId: interaction.user.id }, wait);
        await interaction.editReply({ content: `↳ It goes on in <#${made}>.`, components: [] });
        return;
      }
      default:
        pressed satisfies never;
    }
  } catch (error) {
    if (!(error instanceof AppError))
      log.error({ err: error, button: interaction.customId }, "a button failed");
    const content = `⚠️ ${sentenceOf(error)}`;
    if (first === "reply") await interaction.editReply(content);
    else await refuse(interaction, content);
  }
}

/** Tells Discord that a press or a form has come, does what it means, and tells the person alone what went wrong. */
async function acknowledged(
  interaction: ComponentInteraction | ModalSubmitInteraction,
  { log }: Pick<BotOptions, "log">,
  work: () => Promise<void>,
): Promise<void> {
  await interaction.deferUpdate();
  try {
    await work();
  } catch (error) {
    if (!(error instanceof AppError))
      log.error({ err: error, pressed: interaction.customId }, "a button or form failed");
    await interaction.followUp({ content: `⚠️ ${sentenceOf(error)}`, flags: MessageFlags.Ephemeral });
  }
}

/** The thread in whose Discord thread something was pressed. */
function threadOf(
  { channelId }: { channelId: string | null },
  { context }: Pick<BotOptions, "context">,
): VmThread {
  return context.vm.thread(channelId ?? "");
}
