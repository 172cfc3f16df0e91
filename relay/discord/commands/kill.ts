import { SlashCommandBuilder } from "discord.js";
import { AppError } from "../../../shared/errors.ts";
import type { Command } from "./command.ts";
import { done } from "./done.ts";

export const kill: Command = {
  definition: new SlashCommandBuilder()
    .setName("kill")
    .setDescription("End a thread from anywhere and archive it")
    .addStringOption((option) =>
      option.setName("thread").setDescription("Which one").setRequired(true).setAutocomplete(true),
    )
    .toJSON(),
  isPrivate: false,
  run: async (interaction, context) => {
    const { threads, endings } = context;
    // A mention is what people paste; the choices give the id itself.
    const threadId = interaction.options.getString("thread", true).replace(/^<#(\d+)>$/, "$1");
    if (!threads.has(threadId)) {
      throw new AppError("not_found", "thread: that one is not open; pick one of the list.");
    }
    if (threadId === interaction.channelId) return done.run(interaction, context);
    const reply = await endings.killAndTell(threadId);
    const code = reply.exitCode === null ? "" : ` Exit code ${reply.exitCode}.`;
    await interaction.editReply(`⏹ Ended <#${threadId}>.${code}`);
  },
};
