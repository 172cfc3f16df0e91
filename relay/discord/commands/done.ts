import { SlashCommandBuilder } from "discord.js";
import { type Command, liveThreadHere } from "./command.ts";

export const done: Command = {
  definition: new SlashCommandBuilder()
    .setName("done")
    .setDescription("End what runs in this thread and archive it")
    .toJSON(),
  right: "press",
  isPrivate: false,
  run: async (interaction, { threads, endings }) => {
    const { threadId } = liveThreadHere(interaction, threads);
    await endings.kill(threadId, interaction.user.id, (text) => interaction.editReply(text));
  },
};
