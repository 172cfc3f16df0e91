import { nameOf } from "../../../content/texts.ts";
import { control, type Part, threadOption } from "./part.ts";

const MAX_HINT = 4_000;

export const compact: Part = {
  define: (part) =>
    part
      .setName("compact")
      .setDescription("Let an agent sum up its conversation, so that its context has room again")
      .addStringOption((option) =>
        option.setName("keep").setDescription("What the summary must keep").setMaxLength(MAX_HINT),
      )
      .addStringOption(threadOption("Which agent; this one if left out")),
  right: "press",
  isPrivate: false,
  run: async (interaction, context) => {
    const text = interaction.options.getString("keep");
    const request = {
      control: "compact",
      ...(text === null ? {} : { text }),
    } as const;
    const thread = await control(interaction, context, request);
    await interaction.editReply(`🗜 ${nameOf(thread)} sums up its conversation as soon as its turn is over.`);
  },
};
