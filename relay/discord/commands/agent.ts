import { SlashCommandBuilder } from "discord.js";
import { type Command, dirOption, MAX_OPTION_CHARACTERS, tellWait } from "./command.ts";

export const agent: Command = {
  definition: new SlashCommandBuilder()
    .setName("agent")
    .setDescription("Give a coding agent a task, in a thread of its own")
    .addStringOption(dirOption("Directory to work in, below the repositories' folder"))
    .addStringOption((option) =>
      option
        .setName("prompt")
        .setDescription("What the agent is to do")
        .setRequired(true)
        .setMaxLength(MAX_OPTION_CHARACTERS),
    )
    .toJSON(),
  isPrivate: false,
  run: async (interaction, { beginnings, now }) => {
    const prompt = interaction.options.getString("prompt", true);
    const dir = interaction.options.getString("dir", true);
    const threadId = await beginnings.create(
      { type: "agent", dir, command: prompt, userId: interaction.user.id },
      tellWait(interaction, now),
    );
    await interaction.editReply(`🤖 At work in <#${threadId}>`);
  },
};
