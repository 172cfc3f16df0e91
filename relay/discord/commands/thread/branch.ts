import { nameOf, refuseWithoutTurns } from "../../../content/texts.ts";
import { channelIdOf } from "../../../sidecar/names.ts";
import { MAX_OPTION_CHARACTERS, tellWait } from "../command.ts";
import { getMeant, type Part, threadOption } from "./part.ts";

export const branch: Part = {
  define: (part) =>
    part
      .setName("branch")
      .setDescription("Go on from an agent's newest words in another thread; this one goes on as before")
      .addStringOption((option) =>
        option
          .setName("message")
          .setDescription("What the branch is told first; without it, it waits for you")
          .setMaxLength(MAX_OPTION_CHARACTERS),
      )
      .addStringOption((option) =>
        option
          .setName("model")
          .setDescription("Another model for the branch")
          .setMaxLength(200)
          .setAutocomplete(true),
      )
      .addBooleanOption((option) =>
        option
          .setName("files")
          .setDescription("In a git worktree of its own, with the files as they are now"),
      )
      .addStringOption(threadOption("Which agent; this one if left out")),
  right: "run",
  isPrivate: false,
  run: async (interaction, context) => {
    const parent = await getMeant(interaction, context);
    refuseWithoutTurns(parent, "only agents can be branched");
    const text = interaction.options.getString("message") ?? undefined;
    const model = interaction.options.getString("model") ?? undefined;
    const files = interaction.options.getBoolean("files") ?? false;
    const threadId = await context.beginnings.branch(
      {
        parent,
        channelId: context.channels.choose(parent.dir, channelIdOf(parent)),
        userId: interaction.user.id,
        files,
        ...(text !== undefined && { text }),
        ...(model !== undefined && { agent: { model } }),
      },
      tellWait(interaction, context.now),
    );
    await interaction.editReply(`↳ ${nameOf(parent)} is branched: <#${threadId}>`);
  },
};
