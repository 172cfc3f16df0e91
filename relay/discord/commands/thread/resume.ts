import { nameOf } from "../../../content/texts.ts";
import { codeBlock } from "../../../content/transcript/inline.ts";
import { MAX_OPTION_CHARACTERS } from "../command.ts";
import { control, type Part, threadOption } from "./part.ts";

const MAX_SHOWN = 1_500;

export const resume: Part = {
  define: (part) =>
    part
      .setName("resume")
      .setDescription("Let an agent go on after a pause or a failure")
      .addStringOption((option) =>
        option
          .setName("message")
          .setDescription("What it is to know as it goes on")
          .setMaxLength(MAX_OPTION_CHARACTERS),
      )
      .addStringOption(threadOption("Which agent; this one if left out")),
  right: "press",
  isPrivate: false,
  run: async (interaction, context) => {
    const text = interaction.options.getString("message");
    const input = text === null ? {} : { input: { text, inputId: interaction.id } };
    const thread = await control(interaction, context, {
      control: "resume",
      ...input,
    });
    const said = text === null ? "" : ` It was told:\n${codeBlock(text, MAX_SHOWN).text}`;
    await interaction.editReply(`▶ ${nameOf(thread)} goes on.${said}`);
  },
};
