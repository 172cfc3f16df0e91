import { worktreeReply } from "../../../actions/worktree-remove.ts";
import { toMessage } from "../../buttons.ts";
import { getMeant, type Part, threadOption } from "./part.ts";

export const worktree: Part = {
  define: (part) =>
    part
      .setName("worktree")
      .setDescription("What is in an agent's git worktree; keep it or remove it")
      .addStringOption(threadOption("Which agent; this one if left out")),
  isPrivate: true,
  run: async (interaction, context) => {
    const thread = await getMeant(interaction, context);
    const found = await context.vm.thread(thread.threadId).getWorktree();
    await interaction.editReply(toMessage(worktreeReply(thread, found)));
  },
};
