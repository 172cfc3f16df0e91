import { allModes } from "../../../../shared/agent/engines/engines.ts";
import { nameOf } from "../../../content/texts.ts";
import { control, type Part, threadOption } from "./part.ts";

export const mode: Part = {
  define: (part) =>
    part
      .setName("mode")
      .setDescription("Change what an agent may do without asking")
      .addStringOption((option) =>
        option
          .setName("mode")
          .setDescription("As the agent names it")
          .setRequired(true)
          .addChoices(...allModes().map((name) => ({ name, value: name }))),
      )
      .addStringOption(threadOption("Which agent; this one if left out")),
  right: "decide",
  isPrivate: false,
  run: async (interaction, context) => {
    const modeId = interaction.options.getString("mode", true);
    const thread = await control(interaction, context, { control: "mode", modeId });
    await interaction.editReply(`⚙ ${nameOf(thread)} is asked for the permission mode \`${modeId}\`.`);
  },
};
