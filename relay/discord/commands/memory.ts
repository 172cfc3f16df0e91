/** `/memory`: what agents keep for later conversations. */
import { SlashCommandBuilder, type SlashCommandStringOption } from "discord.js";
import { memoryButtons } from "../../content/buttons.ts";
import { fitLines } from "../../content/lists/lines.ts";
import { hitLine, searchHead } from "../../content/lists/memory.ts";
import { codeBlock, inline } from "../../content/transcript/inline.ts";
import { toMessage } from "../buttons.ts";
import type { Command } from "./command.ts";
import type { Part } from "./thread/part.ts";

const MAX_HITS = 15;
const MAX_TEXT = 1_600;

const search: Part = {
  define: (part) =>
    part
      .setName("search")
      .setDescription("Find words in memories, then in what agents and people have said")
      .addStringOption((option) =>
        option
          .setName("query")
          .setDescription("Lines with all of these words")
          .setRequired(true)
          .setMaxLength(500),
      )
      .addStringOption((option) =>
        option
          .setName("where")
          .setDescription("In both, or in one of them")
          .addChoices({ name: "memories", value: "memory" }, { name: "transcripts", value: "transcripts" }),
      ),
  right: "read",
  isPrivate: true,
  run: async (interaction, { vm }) => {
    const query = interaction.options.getString("query", true);
    const where = interaction.options.getString("where");
    const asked = where === "memory" || where === "transcripts" ? { where } : {};
    const found = await vm.memory.search({ query, limit: MAX_HITS, ...asked } as Parameters<
      typeof vm.memory.search
    >[0]);
    await interaction.editReply(fitLines(searchHead(query, found), found.hits.map(hitLine)));
  },
};

const show: Part = {
  define: (part) =>
    part
      .setName("show")
      .setDescription("A file of a memory, and who wrote it last")
      .addStringOption(fileOption),
  right: "read",
  isPrivate: true,
  run: async (interaction, { vm }) => {
    const file = await vm.memory.get({ path: interaction.options.getString("file", true) });
    const [last] = file.writes;
    const who = file.by === null ? "changed by hand" : `written by ${inline(file.by, 100)}`;
    const head = `🧠 ${inline(file.path, 150)} · ${who} <t:${Math.floor(Date.parse(file.changedAt) / 1_000)}:R>`;
    const buttons = last && file.by !== null ? memoryButtons(last.writeId) : [];
    const content = `${head}\n${codeBlock(file.text, MAX_TEXT, "md").text}`;
    await interaction.editReply(toMessage({ content, buttons }));
  },
};

const forget: Part = {
  define: (part) =>
    part
      .setName("forget")
      .setDescription("Remove a file of a memory; Undo brings it back")
      .addStringOption(fileOption),
  right: "decide",
  isPrivate: false,
  run: async (interaction, { vm }) => {
    const { path, writeId } = await vm.memory.forget({ path: interaction.options.getString("file", true) });
    const content = `🧠 ${inline(path, 150)} is forgotten.`;
    await interaction.editReply(toMessage({ content, buttons: memoryButtons(writeId) }));
  },
};

const PARTS: Readonly<Record<string, Part>> = { search, show, forget };

function getPart(name: string): Part {
  const part = PARTS[name];
  if (!part) throw new Error(`/memory has no ${name}`);
  return part;
}

const builder = new SlashCommandBuilder()
  .setName("memory")
  .setDescription("What agents keep for later conversations");
for (const { define } of Object.values(PARTS)) builder.addSubcommand((part) => define(part));

export const memory: Command = {
  definition: builder.toJSON(),
  right: ({ options }) => getPart(options.getSubcommand()).right,
  isPrivate: (interaction) => getPart(interaction.options.getSubcommand()).isPrivate,
  run: (interaction, context) => getPart(interaction.options.getSubcommand()).run(interaction, context),
};

function fileOption(option: SlashCommandStringOption) {
  return option
    .setName("file")
    .setDescription("Which one, such as user/MEMORY.md")
    .setRequired(true)
    .setMaxLength(200)
    .setAutocomplete(true);
}
