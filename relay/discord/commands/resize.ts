import { SlashCommandBuilder } from "discord.js";
import { type Command, threadHere } from "./command.ts";

export const resize: Command = {
  definition: new SlashCommandBuilder()
    .setName("resize")
    .setDescription("Give this thread's terminal another size")
    .addIntegerOption((option) =>
      option.setName("cols").setDescription("Columns").setRequired(true).setMinValue(20).setMaxValue(500),
    )
    .addIntegerOption((option) =>
      option.setName("rows").setDescription("Rows").setRequired(true).setMinValue(5).setMaxValue(200),
    )
    .toJSON(),
  right: "press",
  isPrivate: true,
  run: async (interaction, { threads }) => {
    const thread = threadHere(interaction, threads);
    const cols = interaction.options.getInteger("cols", true);
    const rows = interaction.options.getInteger("rows", true);
    await thread.resize({ cols, rows });
    await interaction.editReply(`The terminal has ${cols} columns and ${rows} rows now.`);
  },
};
