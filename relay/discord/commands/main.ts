/** `/main`: the agent that hears this channel. */
import {
  ChannelType,
  type ChatInputCommandInteraction,
  SlashCommandBuilder,
  type SlashCommandChannelOption,
} from "discord.js";
import { agentOf, type ChannelRow, MAIN_AGENT } from "../../../shared/channel-api.ts";
import { AppError } from "../../../shared/errors.ts";
import { type DiscordId, discordIdSchema } from "../../../shared/ids.ts";
import { hearsText, mainText } from "../../content/lists/main.ts";
import { inlineCode } from "../../content/texts.ts";
import { channelOf } from "./channel-here.ts";
import { type Command, type CommandContext, dirOption, HEARER_OPTION } from "./command.ts";
import { findMainHere, mainHere } from "./main-here.ts";
import type { Part } from "./thread/part.ts";

const MAX_NAME = 32;
const MAX_DIR = 200;
const HAND_OVER = "hand-over";

const status: Part = {
  define: (part) =>
    part
      .setName("status")
      .setDescription(
        "What this channel's agent does, hears and has cost today, and whom it has not answered",
      ),
  right: "read",
  isPrivate: true,
  run: async (interaction, context) => {
    const main = await mainHere(interaction, context);
    await interaction.editReply(mainText(main, interaction.guildId ?? undefined));
  },
};

const hear: Part = {
  define: (part) =>
    part
      .setName("hear")
      .setDescription("Show which channels this channel's agent hears, let it hear another one, or one less")
      .addChannelOption((option) => channelOption(option, "add", "A channel that it is to hear"))
      .addChannelOption((option) => channelOption(option, "remove", "A channel that it is to hear no more"))
      .addStringOption((option) =>
        option
          .setName(HEARER_OPTION)
          .setDescription("The agent's name; default: the one that hears this channel, else main")
          .setMaxLength(MAX_NAME)
          .setAutocomplete(true),
      ),
  // The sidecar judges a change in the channel that is changed, and in each that the agent hears already.
  right: "read",
  isPrivate: false,
  run: async (interaction, context) => {
    const [added, removed] = [chosen(interaction, "add"), chosen(interaction, "remove")];
    if (added && removed)
      throw new AppError("invalid_request", "add, remove: take one of them; which channel is to be changed?");
    const content = added
      ? await addChannel(interaction, context, added)
      : removed
        ? await removeChannel(interaction, context, removed)
        : hearsText(await mainHere(interaction, context));
    await interaction.editReply(content);
  },
};

/** A sub-command that holds the agent, or lets it go on. */
function controlling(control: "pause" | "resume", description: string, said: string): Part {
  return {
    define: (part) => part.setName(control).setDescription(description),
    right: "press",
    isPrivate: false,
    run: async (interaction, context) => {
      const { name, threadId } = await findMainHere(interaction, context);
      await context.vm.thread(threadId).control({ control });
      await interaction.editReply(said.replace("NAME", () => inlineCode(name, MAX_NAME)));
    },
  };
}

const handOver: Part = {
  define: (part) =>
    part
      .setName(HAND_OVER)
      .setDescription("Let this channel's agent go on in another directory, with what it knows")
      .addStringOption(dirOption("Where it goes on", true)),
  // The sidecar judges it in each channel that the agent hears.
  right: "settings",
  isPrivate: false,
  run: async (interaction, context) => {
    const { channelId } = await findMainHere(interaction, context);
    const dir = interaction.options.getString("dir", true).trim();
    const made = await context.vm.voice.handOver(channelId, dir);
    const places = [made.dir, made.from].map((place) => inlineCode(place, MAX_DIR));
    await interaction.editReply(
      `📦 ${inlineCode(made.name, MAX_NAME)} goes on in ${places[0]}; before, it worked in ${places[1]}.`,
    );
  },
};

const PARTS: Readonly<Record<string, Part>> = {
  status,
  hear,
  pause: controlling(
    "pause",
    "Hold this channel's agent: its turn is cut off, and it takes no messages until it is resumed",
    "⏸ NAME is held: it takes no messages until `/main resume`.",
  ),
  resume: controlling(
    "resume",
    "Let this channel's agent go on after a pause or a failure",
    "▶️ NAME goes on.",
  ),
  [HAND_OVER]: handOver,
};

function getPart(name: string): Part {
  const part = PARTS[name];
  if (!part) throw new Error(`/main has no ${name}`);
  return part;
}

const builder = new SlashCommandBuilder().setName("main").setDescription("The agent that hears this channel");
for (const { define } of Object.values(PARTS)) builder.addSubcommand((part) => define(part));

export const main: Command = {
  definition: builder.toJSON(),
  right: ({ options }) => getPart(options.getSubcommand()).right,
  isPrivate: (interaction) => getPart(interaction.options.getSubcommand()).isPrivate,
  run: (interaction, context) => getPart(interaction.options.getSubcommand()).run(interaction, context),
};

type Used = ChatInputCommandInteraction;

/** @returns who hears what now @throws AppError as a change of the channel's settings */
async function addChannel(interaction: Used, context: CommandContext, channelId: DiscordId): Promise<string> {
  const { vm, here, threads } = context;
  const { channels: rows } = await vm.channels.list();
  const ofHere = agentOfRow(rows, channelOf(interaction, threads));
  const agent = interaction.options.getString(HEARER_OPTION)?.trim() ?? ofHere ?? MAIN_AGENT;
  const isServed = rows.some(({ id }) => id === channelId);
  const dir = rows.find((row) => agentOf(row) === agent)?.dir ?? ".";
  const request = { mode: "main" as const, agent, ...(!isServed && { dir }) };
  await here.set(channelId, request, vm, interaction.user.id);
  return hearsText(await vm.voice.getMain(channelId));
}

/** @throws AppError `not_found` if the agent does not hear it, and as a change of the channel's settings */
async function removeChannel(
  interaction: Used,
  { vm, here }: CommandContext,
  channelId: DiscordId,
): Promise<string> {
  const name = agentOfRow((await vm.channels.list()).channels, channelId);
  const wanted = interaction.options.getString(HEARER_OPTION)?.trim() ?? name;
  if (name === undefined || wanted !== name) {
    const by = name === undefined ? "no agent hears it" : `it is ${name} that hears it`;
    throw new AppError("not_found", `remove: <#${channelId}>: ${by}.`);
  }
  await here.set(channelId, { mode: "off" }, vm, interaction.user.id);
  return `🎧 ${inlineCode(name, MAX_NAME)} hears <#${channelId}> no more. What it heard there stays in its conversation.`;
}

function agentOfRow(rows: readonly ChannelRow[], channelId: DiscordId): string | undefined {
  const row = rows.find(({ id }) => id === channelId);
  return row && agentOf(row);
}

function channelOption(option: SlashCommandChannelOption, name: string, description: string) {
  return option
    .setName(name)
    .setDescription(description)
    .addChannelTypes(ChannelType.GuildText, ChannelType.GuildAnnouncement);
}

function chosen({ options }: Used, name: string): DiscordId | undefined {
  const value = options.get(name)?.value;
  return value === undefined ? undefined : discordIdSchema.parse(value);
}
