import { SlashCommandBuilder } from "discord.js";
import { toTmuxKey } from "../keys.ts";
import { type Command, threadHere } from "./command.ts";

export const key: Command = {
  definition: new SlashCommandBuilder()
    .setName("key")
    .setDescription("Press a key in this thread's terminal")
    .addStringOption((option) =>
      option
        .setName("name")
        .setDescription("Such as ctrl-c, tab, up, escape")
        .setRequired(true)
        .setAutocomplete(true),
    )
    .toJSON(),
  isPrivate: true,
  run: async (interaction, { threads }) => {
    const thread = threadHere(interaction, threads);
    const name = interaction.options.getString("name", true);
    await thread.send({ key: toTmuxKey(name) });
    await interaction.editReply(`Pressed ${name}.`);
  },
};
