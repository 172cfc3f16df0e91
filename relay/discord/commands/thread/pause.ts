import { nameOf } from "../../../content/texts.ts";
import { control, type Part, threadOption } from "./part.ts";

export const pause: Part = {
  define: (part) =>
    part
      .setName("pause")
      .setDescription("Hold an agent: what runs is cut off, and nothing starts before it is resumed")
      .addStringOption(threadOption("Which agent; this one if left out")),
  right: "press",
  isPrivate: false,
  run: async (interaction, context) => {
    const thread = await control(interaction, context, { control: "pause" });
    await interaction.editReply(
      `⏸ Paused ${nameOf(thread)}. What ran is cut off; its questions can be answered; \`/thread resume\` takes it up.`,
    );
  },
};
