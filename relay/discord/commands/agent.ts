import { SlashCommandBuilder } from "discord.js";
import { type Command, dirOption, MAX_OPTION_CHARACTERS, tellWait } from "./command.ts";
import { addLimitOptions, chosenLimits } from "./limit-options.ts";

const definition = new SlashCommandBuilder()
  .setName("agent")
  .setDescription("Give a coding agent a task, in a thread of its own")
  .addStringOption(dirOption("Directory to work in, below the repositories' folder"))
  .addStringOption((option) =>
    option
      .setName("prompt")
      .setDescription("What the agent is to do")
      .setRequired(true)
      .setMaxLength(MAX_OPTION_CHARACTERS),
  );
addLimitOptions(definition, ", then it asks whether to go on");

export const agent: Command = {
  definition: definition.toJSON(),
  isPrivate: false,
  run: async (interaction, { beginnings, now }) => {
    const prompt = interaction.options.getString("prompt", true);
    const dir = interaction.options.getString("dir", true);
    const limits = chosenLimits(interaction);
    const threadId = await beginnings.create(
      {
        type: "agent",
        dir,
        command: prompt,
        userId: interaction.user.id,
        ...(Object.keys(limits).length > 0 && { agent: { limits } }),
      },
      tellWait(interaction, now),
    );
    await interaction.editReply(`🤖 At work in <#${threadId}>`);
  },
};
