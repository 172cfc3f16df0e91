import { SlashCommandBuilder } from "discord.js";
import { isOpen } from "../../../shared/api.ts";
import { AppError } from "../../../shared/errors.ts";
import { kindOf } from "../../../shared/kinds.ts";
import { nameOf } from "../../content/texts.ts";
import type { Command } from "./command.ts";
import { done } from "./done.ts";
import { findThread } from "./thread/part.ts";

export const kill: Command = {
  definition: new SlashCommandBuilder()
    .setName("kill")
    .setDescription("End a thread from anywhere and archive it")
    .addStringOption((option) =>
      option.setName("thread").setDescription("Which one").setRequired(true).setAutocomplete(true),
    )
    .toJSON(),
  right: "press",
  isPrivate: false,
  run: async (interaction, context) => {
    const { vm, threads, endings } = context;
    const thread = await findThread(vm, interaction.options.getString("thread", true));
    const { threadId } = thread;
    if (!isOpen(thread.status)) throw new AppError("thread_ended", "thread: that one is over already.");
    if (threadId === interaction.channelId) return done.run(interaction, context);
    // One that was made through the API has no Discord thread to tell.
    const live = threads.find(threadId);
    const reply = live
      ? await endings.killAndTell(live.threadId, interaction.user.id)
      : await vm.thread(threadId).kill();
    const isTold = kindOf(thread).hasExitCode && reply.exitCode !== null;
    const code = isTold ? ` Exit code ${reply.exitCode}.` : "";
    await interaction.editReply(`⏹ Ended ${nameOf(thread)}.${code}`);
  },
};
