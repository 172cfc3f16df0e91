import { SlashCommandBuilder } from "discord.js";
import { type Command, dirOption, MAX_OPTION_CHARACTERS, tellWait } from "./command.ts";

export const terminal: Command = {
  definition: new SlashCommandBuilder()
    .setName("terminal")
    .setDescription("Run a command on the VM in a thread of its own")
    .addStringOption(dirOption("Directory to run it in, below the repositories' folder"))
    .addStringOption((option) =>
      option
        .setName("command")
        .setDescription("Shell command line, such as: npm run dev")
        .setRequired(true)
        .setMaxLength(MAX_OPTION_CHARACTERS),
    )
    .toJSON(),
  isPrivate: false,
  run: async (interaction, { beginnings, now }) => {
    const command = interaction.options.getString("command", true);
    const dir = interaction.options.getString("dir", true);
    const threadId = await beginnings.create(
      { type: "terminal", dir, command, userId: interaction.user.id },
      tellWait(interaction, now),
    );
    await interaction.editReply(`🖥 Running in <#${threadId}>`);
  },
};
