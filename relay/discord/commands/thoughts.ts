import { SlashCommandBuilder } from "discord.js";
import { AppError } from "../../../shared/errors.ts";
import { thoughtsFile } from "../../content/lists/thoughts.ts";
import { readNewest } from "../../sidecar/transcript-reader.ts";
import { type Command, threadHere } from "./command.ts";

/** The part of the transcript that is read, in bytes from its end. */
const MAX_BYTES = 256 * 1024;

export const thoughts: Command = {
  definition: new SlashCommandBuilder()
    .setName("thoughts")
    .setDescription("Show what this agent wrote for itself; only you see it")
    .toJSON(),
  // Owners alone have this right.
  right: "roles",
  isPrivate: true,
  run: async (interaction, { threads, vm, access }) => {
    const userId = interaction.user.id;
    const thread = threadHere(interaction, threads);
    const { threadId, number, voice } = await thread.get();
    if (voice !== "message")
      throw new AppError("unsupported", "What this thread's agent writes is shown in its thread.");
    // The agent may repeat in its text what people said in any channel that it hears.
    const { channels } = await vm.channels.list();
    for (const { id, mode } of channels) if (mode === "main") access.judge(userId, "roles", id);
    const text = thoughtsFile(await readNewest(thread, MAX_BYTES));
    if (text === "") {
      await interaction.editReply({ content: "It wrote nothing for itself lately." });
      return;
    }
    const content = "What it wrote for itself lately, the newest last.";
    const file = { attachment: Buffer.from(text), name: `thoughts-${number ?? threadId}.txt` };
    await interaction.editReply({ content, files: [file] });
  },
};
