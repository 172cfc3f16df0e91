import { MessageFlags, SlashCommandBuilder } from "discord.js";
import { findDiscordId } from "../../../shared/principal.ts";
import { inboxLine } from "../../content/lists/inbox.ts";
import { joinBlocks } from "../../content/lists/lines.ts";
import type { Command } from "./command.ts";

const MAX_MESSAGES = 5;

export const inbox: Command = {
  definition: new SlashCommandBuilder()
    .setName("inbox")
    .setDescription("Show what needs you: open asks, failures, and turns that have ended")
    .toJSON(),
  right: "read",
  isPrivate: true,
  run: async (interaction, { vm }) => {
    const items = (await vm.listInbox()).filter(
      ({ createdBy }) => findDiscordId(createdBy) === interaction.user.id,
    );
    const lines =
      items.length === 0 ? ["📭 Nothing needs you."] : ["📥 **Needs you**", ...items.map(inboxLine)];
    const [first = "", ...others] = joinBlocks(lines, MAX_MESSAGES);
    await interaction.editReply(first);
    for (const content of others) await interaction.followUp({ content, flags: MessageFlags.Ephemeral });
  },
};
