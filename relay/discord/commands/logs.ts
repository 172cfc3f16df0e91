import { SlashCommandBuilder } from "discord.js";
import { MAX_GREP_CHARACTERS, MAX_SERVICE_CHARACTERS } from "../../../shared/follow/spec.ts";
import { type Command, dirOption, tellWait } from "./command.ts";

export const logs: Command = {
  definition: new SlashCommandBuilder()
    .setName("logs")
    .setDescription("Follow logs in a thread: files, a docker container, a systemd unit")
    .addStringOption(dirOption("Directory from which files are named, below the repositories' folder"))
    .addStringOption((option) =>
      option
        .setName("service")
        .setDescription("A file or a glob, a container, or a unit: log/*.log, docker:web, unit:nginx")
        .setRequired(true)
        .setMaxLength(MAX_SERVICE_CHARACTERS)
        .setAutocomplete(true),
    )
    .addStringOption((option) =>
      option
        .setName("grep")
        .setDescription("Only lines that hold this text")
        .setMaxLength(MAX_GREP_CHARACTERS),
    )
    .toJSON(),
  isPrivate: false,
  run: async (interaction, { beginnings, now }) => {
    const dir = interaction.options.getString("dir", true);
    const service = interaction.options.getString("service", true);
    const grep = interaction.options.getString("grep") ?? undefined;
    const asked = { dir, service, userId: interaction.user.id, ...(grep !== undefined && { grep }) };
    const threadId = await beginnings.follow(asked, tellWait(interaction, now));
    await interaction.editReply(`📜 Following in <#${threadId}>`);
  },
};
