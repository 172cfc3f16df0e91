import { SlashCommandBuilder } from "discord.js";
import { killedText } from "../../texts.ts";
import { type Command, threadHere } from "./command.ts";

export const done: Command = {
  definition: new SlashCommandBuilder()
    .setName("done")
    .setDescription("End what runs in this thread and archive it")
    .toJSON(),
  isPrivate: false,
  run: async (interaction, { threads, endings }) => {
    const { threadId } = threadHere(interaction, threads);
    const { reply, archive } = await endings.kill(threadId);
    // The answer must be there before the thread is archived: Discord takes none after it.
    await interaction.editReply(killedText(reply));
    await archive();
  },
};
