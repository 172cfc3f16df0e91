import { worktreeReply } from "../../../actions/worktree-remove.ts";
import { mergedText } from "../../../texts.ts";
import { toMessage } from "../../buttons.ts";
import { getMeant, type Part, threadOption } from "./part.ts";

export const worktree: Part = {
  define: (part) =>
    part
      .setName("worktree")
      .setDescription("What is in an agent's git worktree; merge it, keep it or remove it")
      .addStringOption(threadOption("Which agent; this one if left out"))
      .addBooleanOption((option) =>
        option.setName("merge").setDescription("Merge its commits into the branch that it left"),
      ),
  right: "press",
  isPrivate: true,
  run: async (interaction, context) => {
    const thread = await getMeant(interaction, context);
    const vm = context.vm.thread(thread.threadId);
    const merged = interaction.options.getBoolean("merge") ? [mergedText(await vm.mergeWorktree())] : [];
    const reply = worktreeReply(thread, await vm.getWorktree());
    const content = [...merged, reply.content].join("\n");
    await interaction.editReply(toMessage({ ...reply, content }));
  },
};
