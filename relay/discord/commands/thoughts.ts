import { SlashCommandBuilder } from "discord.js";
import { AppError } from "../../../shared/errors.ts";
import { thoughtsFile } from "../../content/lists/thoughts.ts";
import { readNewest } from "../../sidecar/transcript-reader.ts";
import { placeOf } from "../api.ts";
import type { Command } from "./command.ts";
import { findMainHere } from "./main-here.ts";

/** The part of the transcript that is read, in bytes from its end. */
const MAX_BYTES = 256 * 1024;

export const thoughts: Command = {
  definition: new SlashCommandBuilder()
    .setName("thoughts")
    .setDescription("Show what this channel's agent wrote for itself; only you see it")
    .toJSON(),
  right: "thoughts",
  isPrivate: true,
  run: async (interaction, context) => {
    const { threads, vm, access } = context;
    const live = threads.find(placeOf(interaction));
    const thread = vm.thread(live?.threadId ?? (await findMainHere(interaction, context)).threadId);
    const { threadId, number, voice } = await thread.get();
    if (voice !== "message")
      throw new AppError("unsupported", "What this thread's agent writes is shown in its thread.");
    // The agent may repeat in its text what people said in any channel that it has heard.
    for (const id of await thread.listHeardIn())
      if (!access.may(interaction.user.id, "thoughts", id))
        throw new AppError(
          "forbidden",
          `It may have written down what was said in <#${id}>. ${access.refusal(interaction.user.id, "thoughts", id)}`,
        );
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
