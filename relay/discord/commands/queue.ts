import { SlashCommandBuilder } from "discord.js";
import { AppError } from "../../../shared/errors.ts";
import { kindOf } from "../../../shared/kinds.ts";
import { codeBlock } from "../../content/transcript/inline.ts";
import { placeOf } from "../api.ts";
import { type Command, MAX_OPTION_CHARACTERS } from "./command.ts";

const MAX_SHOWN = 1_700;

export const queue: Command = {
  definition: new SlashCommandBuilder()
    .setName("queue")
    .setDescription("Tell the agent something once its turn has ended")
    .addStringOption((option) =>
      option
        .setName("text")
        .setDescription("What it is to read then")
        .setRequired(true)
        .setMaxLength(MAX_OPTION_CHARACTERS),
    )
    .toJSON(),
  right: "press",
  isPrivate: false,
  run: async (interaction, { threads }) => {
    const thread = threads.find(placeOf(interaction));
    if (!thread || !kindOf(thread.kind).hasTurns)
      throw new AppError("invalid_request", "/queue belongs into an agent's thread; /status lists them.");
    const text = interaction.options.getString("text", true);
    await thread.vm
      .as(interaction.user.id)
      .send({ text, when: "next_turn", inputId: `queue.${interaction.id}` });
    const when =
      thread.status === "running" || thread.status === "waiting" ? "when this turn has ended" : "now";
    await interaction.editReply(`📥 The agent reads this ${when}:\n${codeBlock(text, MAX_SHOWN).text}`);
  },
};
