import { nameOf } from "../../../content/texts.ts";
import { inline } from "../../../content/transcript/inline.ts";
import { control, type Part, threadOption } from "./part.ts";

/** The longest name of a model that the sidecar takes. */
const MAX_NAME = 200;

export const model: Part = {
  define: (part) =>
    part
      .setName("model")
      .setDescription("Change the model behind an agent, from its next call on")
      .addStringOption((option) =>
        option
          .setName("model")
          .setDescription("Its name, as the agent takes it: opus, sonnet, or a full name")
          .setRequired(true)
          .setMaxLength(MAX_NAME)
          .setAutocomplete(true),
      )
      .addStringOption(threadOption("Which agent; this one if left out")),
  right: "decide",
  isPrivate: false,
  run: async (interaction, context) => {
    const name = interaction.options.getString("model", true);
    const thread = await control(interaction, context, {
      control: "model",
      model: name,
    });
    await interaction.editReply(
      `⚙ ${nameOf(thread)} is asked for the model ${inline(name, MAX_NAME)}. Nobody has checked that name.`,
    );
  },
};
