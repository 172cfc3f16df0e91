import { SlashCommandBuilder } from "discord.js";
import { MAX_ADDRESS_CHARACTERS, parseAddress } from "../../../shared/browser/address.ts";
import { addBudgetOptions, chosenBudget } from "./budget-options.ts";
import { chosenPlace } from "./channel-here.ts";
import { type Command, tellWait } from "./command.ts";

const definition = new SlashCommandBuilder()
  .setName("browser")
  .setDescription("Open a web page on the VM, and use it by its picture")
  .addStringOption((option) =>
    option
      .setName("url")
      .setDescription("The page's address, such as: example.org")
      .setRequired(true)
      .setMaxLength(MAX_ADDRESS_CHARACTERS),
  );
addBudgetOptions(definition);

export const browser: Command = {
  definition: definition.toJSON(),
  right: "run",
  isPrivate: false,
  run: async (interaction, context) => {
    const command = parseAddress(interaction.options.getString("url", true)).href;
    const { dir, channelId } = chosenPlace(interaction, context, null);
    const budget = chosenBudget(interaction);
    const threadId = await context.beginnings.create(
      { channelId, type: "browser", dir, command, budget, userId: interaction.user.id },
      tellWait(interaction, context.now),
    );
    await interaction.editReply(`🌐 Browsing in <#${threadId}>`);
  },
};
