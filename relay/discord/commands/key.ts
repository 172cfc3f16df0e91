import { SlashCommandBuilder } from "discord.js";
import { parseKey } from "../../../shared/key-words.ts";
import { type Command, liveThreadHere } from "./command.ts";

export const key: Command = {
  definition: new SlashCommandBuilder()
    .setName("key")
    .setDescription("Press a key in this thread's terminal")
    .addStringOption((option) =>
      option
        .setName("name")
        .setDescription("Such as ctrl-c, esc, alt-b, shift-up, pgdn")
        .setRequired(true)
        .setAutocomplete(true),
    )
    .toJSON(),
  right: "type",
  isPrivate: true,
  run: async (interaction, { threads }) => {
    const thread = liveThreadHere(interaction, threads);
    const name = interaction.options.getString("name", true);
    await thread.pressKey(parseKey(name), interaction.user.id);
    await interaction.editReply(`Pressed ${name}.`);
  },
};
