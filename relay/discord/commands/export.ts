import { SlashCommandBuilder } from "discord.js";
import { exportLog } from "../../content/export.ts";
import { refusePrivate } from "../../content/texts.ts";
import { type Command, threadHere } from "./command.ts";

/** Discord's own limit may be higher in a boosted server; memory is the relay's. */
const MAX_EXPORT_BYTES = 25 * 1024 * 1024;
/** An answer is taken for 15 minutes. */
const EXPORT_TIMEOUT_MS = 10 * 60_000;

export const exported: Command = {
  definition: new SlashCommandBuilder()
    .setName("export")
    .setDescription("Get this thread's whole output as a file")
    .toJSON(),
  right: "read",
  isPrivate: false,
  run: async (interaction, { threads }) => {
    const thread = threadHere(interaction, threads);
    refusePrivate(await thread.get());
    const maxBytes = Math.min(interaction.attachmentSizeLimit, MAX_EXPORT_BYTES);
    const signal = AbortSignal.timeout(EXPORT_TIMEOUT_MS);
    const { fileName, data, note } = await exportLog({ thread, maxBytes, signal });
    await interaction.editReply({ content: note ?? "", files: [{ attachment: data, name: fileName }] });
  },
};
