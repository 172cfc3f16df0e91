/** `/room`: several agents in one conversation, which write in turn. */
import { SlashCommandBuilder, type SlashCommandStringOption } from "discord.js";
import type { NewMember, Room } from "../../../shared/rooms/api.ts";
import { PROTOCOL_WORDS, ROOM_PROTOCOLS, type RoomProtocol } from "../../../shared/rooms/protocol.ts";
import { inline } from "../../content/transcript/inline.ts";
import { snowflakeNow } from "../api.ts";
import { chosenPlace } from "./channel-here.ts";
import { type Command, threadHere } from "./command.ts";
import type { Part } from "./thread/part.ts";

const DIRECTIVE = "as:";
const MEMBER = "A number (#12), a name, a title in quotes, or as:reviewer for a new one";

const make: Part = {
  define: (part) =>
    part
      .setName("new")
      .setDescription("Make a room of agents that speak with a tool (agent.voice message)")
      .addStringOption((option) => text(option, "members", `${MEMBER}; separated by blanks`))
      .addStringOption(protocolOption)
      .addStringOption((option) => leadOption(option))
      .addStringOption((option) =>
        option.setName("title").setDescription("What people call it").setMaxLength(100),
      ),
  right: "run",
  isPrivate: false,
  run: async (interaction, context) => {
    const { dir, channelId } = chosenPlace(interaction, context, null);
    const title = interaction.options.getString("title");
    const room = await context.vm.rooms.create({
      ...{ threadId: `room-${snowflakeNow(context.now())}`, dir, channelId },
      ...{ protocol: chosenProtocol(interaction), ...chosenLead(interaction) },
      members: membersOf(interaction.options.getString("members", true)),
      ...(title !== null && { title }),
    });
    await interaction.editReply(`🗣 A room of ${membersText(room)}: its thread is below this channel.`);
  },
};

const add: Part = {
  define: (part) =>
    part
      .setName("add")
      .setDescription("Let an agent into this room")
      .addStringOption((option) => text(option, "member", MEMBER)),
  right: "run",
  isPrivate: false,
  run: async (interaction, { vm, threads }) => {
    const { threadId } = threadHere(interaction, threads);
    const room = await vm.rooms.add(threadId, memberOf(interaction.options.getString("member", true).trim()));
    await interaction.editReply(`🗣 In this room are ${membersText(room)}.`);
  },
};

const remove: Part = {
  define: (part) =>
    part
      .setName("remove")
      .setDescription("Take a member out of this room; its thread goes on")
      .addStringOption((option) => text(option, "member", "Its name in the room, or its number")),
  right: "press",
  isPrivate: false,
  run: async (interaction, { vm, threads }) => {
    const { threadId } = threadHere(interaction, threads);
    const room = await vm.rooms.remove(threadId, interaction.options.getString("member", true).trim());
    await interaction.editReply(`🗣 In this room are ${membersText(room)}.`);
  },
};

const protocol: Part = {
  define: (part) =>
    part
      .setName("protocol")
      .setDescription("Set who may write in this room when; the round that runs ends")
      .addStringOption(protocolOption)
      .addStringOption((option) => leadOption(option)),
  right: "press",
  isPrivate: false,
  run: async (interaction, { vm, threads }) => {
    const { threadId } = threadHere(interaction, threads);
    const wanted = { protocol: chosenProtocol(interaction), ...chosenLead(interaction) };
    const room = await vm.rooms.setProtocol(threadId, wanted);
    await interaction.editReply(`🗣 ${room.protocol}: ${membersText(room)}.`);
  },
};

const stop: Part = {
  define: (part) =>
    part.setName("stop").setDescription("End this room's round, and interrupt whoever has the turn"),
  right: "press",
  isPrivate: false,
  run: async (interaction, { vm, threads }) => {
    const { stopped } = await vm.rooms.stop(threadHere(interaction, threads).threadId);
    await interaction.editReply(stopped ? "⏹ The round has ended." : "The room rested already.");
  },
};

const PARTS: Readonly<Record<string, Part>> = { new: make, add, remove, protocol, stop };

function getPart(name: string): Part {
  const part = PARTS[name];
  if (!part) throw new Error(`/room has no ${name}`);
  return part;
}

const builder = new SlashCommandBuilder()
  .setName("room")
  .setDescription("Several agents in one conversation, which write in turn");
for (const { define } of Object.values(PARTS)) builder.addSubcommand((part) => define(part));

export const room: Command = {
  definition: builder.toJSON(),
  right: ({ options }) => getPart(options.getSubcommand()).right,
  isPrivate: false,
  run: (interaction, context) => getPart(interaction.options.getSubcommand()).run(interaction, context),
};

type Used = Parameters<Part["run"]>[0];

/** `#12 as:reviewer "Tidy the shop"`, separated by blanks or commas. */
export function membersOf(typed: string): NewMember[] {
  return (typed.match(/["“][^"“”]*["”]|[^\s,]+/g) ?? []).map(memberOf);
}

function memberOf(typed: string): NewMember {
  const name = /^["“](.*)["”]$/s.exec(typed)?.[1] ?? typed;
  return name.startsWith(DIRECTIVE) ? { directive: name.slice(DIRECTIVE.length) } : { threadId: name };
}

/** The choices are the protocols, and the sidecar checks what it is given. */
function chosenProtocol({ options }: Used): RoomProtocol {
  return options.getString("protocol", true) as RoomProtocol;
}

function chosenLead({ options }: Used): { lead?: string } {
  const lead = options.getString("lead");
  return lead === null ? {} : { lead };
}

function membersText({ members }: Room): string {
  return members.map(({ name, number }) => inline(`@${name} #${number ?? "?"}`, 100)).join(", ");
}

function text(option: SlashCommandStringOption, name: string, description: string) {
  return option.setName(name).setDescription(description).setRequired(true).setMaxLength(500);
}

function protocolOption(option: SlashCommandStringOption) {
  return option
    .setName("protocol")
    .setDescription("Who may write when")
    .setRequired(true)
    .addChoices(...ROOM_PROTOCOLS.map((value) => ({ name: `${value}: ${PROTOCOL_WORDS[value]}`, value })));
}

function leadOption(option: SlashCommandStringOption) {
  return option
    .setName("lead")
    .setDescription("Of orchestrated: the member that names others")
    .setMaxLength(100);
}
