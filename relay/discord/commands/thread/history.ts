import { stepsPage } from "../../../actions/steps.ts";
import { allSteps, END } from "../../../actions/steps-file.ts";
import { toMessage } from "../../buttons.ts";
import { getMeant, type Part, threadOption } from "./part.ts";

export const history: Part = {
  define: (part) =>
    part
      .setName("history")
      .setDescription("Show an agent's steps, the newest first to see")
      .addStringOption(threadOption("Which agent; this one if left out"))
      .addBooleanOption((option) => option.setName("file").setDescription("All of them, as a file")),
  right: "read",
  isPrivate: true,
  run: async (interaction, context) => {
    const { threadId } = await getMeant(interaction, context);
    const isFile = interaction.options.getBoolean("file") ?? false;
    const now = context.now();
    const thread = context.vm.thread(threadId);
    const reply = isFile ? allSteps(thread, now) : stepsPage(thread, { beforeSeq: END }, now);
    await interaction.editReply(toMessage(await reply));
  },
};
