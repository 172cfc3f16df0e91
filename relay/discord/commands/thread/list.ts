import { MessageFlags } from "discord.js";
import { KINDS } from "../../../../shared/kinds.ts";
import { threadTree } from "../../../../shared/thread-tree.ts";
import { joinBlocks } from "../../../content/lists/lines.ts";
import { isListed, listLine, restLine } from "../../../content/lists/threads.ts";
import type { Thread } from "../../../sidecar/names.ts";
import type { Part } from "./part.ts";

const MAX_MESSAGES = 5;
const WHICH = Object.entries(KINDS).map(([value, { many }]) => ({ name: many, value }));

export const list: Part = {
  define: (part) =>
    part
      .setName("list")
      .setDescription("List the threads: what each does, and what waits for somebody")
      .addStringOption((option) =>
        option
          .setName("which")
          .setDescription("Which kind; all if left out")
          .addChoices(...WHICH),
      )
      .addBooleanOption((option) =>
        option.setName("all").setDescription("Also those that have ended, or have been idle for long"),
      ),
  right: "read",
  isPrivate: true,
  run: async (interaction, { vm, listMinutes, now }) => {
    const type = interaction.options.getString("which");
    const isAll = interaction.options.getBoolean("all") ?? false;
    const threads = (await vm.listThreads("all")).filter((thread) => type === null || thread.type === type);
    const isShown = (thread: Thread) => isAll || isListed(thread, { listMinutes, now: now() });
    // The newest first: with many, the oldest ones are left out.
    const shown = threadTree(threads.reverse(), isShown);
    const rest = restLine(threads.length - shown.length);
    const lines = shown.map(({ thread, depth }) => listLine(thread, now(), depth));
    const isNone = lines.length === 0;
    const none = threads.length === 0 ? "There is no such thread." : "Nothing goes on.";
    const blocks = [...(isNone ? [none] : lines), ...rest];
    const [first = "", ...others] = joinBlocks(blocks, MAX_MESSAGES);
    await interaction.editReply(first);
    for (const content of others) await interaction.followUp({ content, flags: MessageFlags.Ephemeral });
  },
};
