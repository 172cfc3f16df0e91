import { SlashCommandBuilder } from "discord.js";
import { addBudgetOptions, chosenBudget } from "./budget-options.ts";
import { chosenPlace } from "./channel-here.ts";
import { type Command, dirOption, MAX_OPTION_CHARACTERS, tellWait } from "./command.ts";

const definition = new SlashCommandBuilder()
  .setName("terminal")
  .setDescription("Run a command on the VM in a thread of its own")
  .addStringOption((option) =>
    option
      .setName("command")
      .setDescription("Shell command line, such as: npm run dev")
      .setRequired(true)
      .setMaxLength(MAX_OPTION_CHARACTERS),
  )
  .addStringOption(dirOption("Directory to run it in; left out, the channel's"));
addBudgetOptions(definition);

export const terminal: Command = {
  definition: definition.toJSON(),
  right: "run",
  isPrivate: false,
  run: async (interaction, context) => {
    const command = interaction.options.getString("command", true);
    const { dir, channelId } = chosenPlace(interaction, context, interaction.options.getString("dir"));
    const budget = chosenBudget(interaction);
    const threadId = await context.beginnings.create(
      { channelId, type: "terminal", dir, command, budget, userId: interaction.user.id },
      tellWait(interaction, context.now),
    );
    await interaction.editReply(`🖥 Running in <#${threadId}>`);
  },
};
