import { SlashCommandBuilder } from "discord.js";
import { MAX_GREP_CHARACTERS, MAX_SERVICE_CHARACTERS } from "../../../shared/follow/spec.ts";
import { chosenPlace } from "./channel-here.ts";
import { type Command, dirOption, tellWait } from "./command.ts";

export const logs: Command = {
  definition: new SlashCommandBuilder()
    .setName("logs")
    .setDescription("Follow logs in a thread: files, a docker container, a systemd unit")
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
    .addStringOption(dirOption("Directory from which files are named; left out, the channel's"))
    .toJSON(),
  right: "run",
  isPrivate: false,
  run: async (interaction, context) => {
    const { dir, channelId } = chosenPlace(interaction, context, interaction.options.getString("dir"));
    const service = interaction.options.getString("service", true);
    const grep = interaction.options.getString("grep") ?? undefined;
    const asked = { channelId, dir, service, userId: interaction.user.id };
    const threadId = await context.beginnings.follow(
      { ...asked, ...(grep !== undefined && { grep }) },
      tellWait(interaction, context.now),
    );
    await interaction.editReply(`📜 Following in <#${threadId}>`);
  },
};
