import { AppError } from "../../../../shared/errors.ts";
import { mergeAndTell, worktreeOverview } from "../../../actions/worktree-merge.ts";
import { toMessage } from "../../buttons.ts";
import { getMeant, type Part, threadOption } from "./part.ts";

export const worktree: Part = {
  define: (part) =>
    part
      .setName("worktree")
      .setDescription("What is in an agent's git worktree; merge or rebase it, keep it or remove it")
      .addStringOption(threadOption("Which agent; this one if left out"))
      .addBooleanOption((option) =>
        option.setName("merge").setDescription("Merge its commits into the branch that it left"),
      )
      .addBooleanOption((option) =>
        option
          .setName("rebase")
          .setDescription("Make its commits anew on top of the branch that it left, which gets them"),
      ),
  right: "press",
  isPrivate: true,
  run: async (interaction, context) => {
    const thread = await getMeant(interaction, context);
    const vm = context.vm.thread(thread.threadId);
    const [merges, rebases] = ["merge", "rebase"].map(
      (name) => interaction.options.getBoolean(name) ?? false,
    );
    if (merges && rebases) throw new AppError("invalid_request", "`merge` and `rebase`: choose one of them.");
    const reply =
      merges || rebases
        ? await mergeAndTell(vm, rebases ? "rebase" : "merge")
        : worktreeOverview(thread, await vm.getWorktree());
    await interaction.editReply(toMessage(reply));
  },
};
