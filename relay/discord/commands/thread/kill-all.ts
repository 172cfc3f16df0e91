import { isOpen, type Thread, type ThreadType } from "../../../../shared/api.ts";
import { fitLines } from "../../../content/lists/lines.ts";
import { listLine } from "../../../content/lists/threads.ts";
import { toComponents } from "../../buttons.ts";
import type { Part } from "./part.ts";

/** Which threads are meant, as the button says it again. */
export const KINDS = ["agents", "terminals", "both"] as const;
export type Kinds = (typeof KINDS)[number];

const TYPES: Record<Kinds, readonly ThreadType[]> = {
  agents: ["agent"],
  terminals: ["terminal"],
  both: ["agent", "terminal"],
};

/** @param before nobody has seen what began later on the list: that is left alone. In milliseconds since 1970. */
export function killable(threads: readonly Thread[], kinds: Kinds, before: number): Thread[] {
  return threads.filter(
    ({ type, status, createdAt }) =>
      TYPES[kinds].includes(type) && isOpen(status) && Date.parse(createdAt) <= before,
  );
}

export const killAll: Part = {
  define: (part) =>
    part
      .setName("kill-all")
      .setDescription("End every open thread of a kind; asks first")
      .addStringOption((option) =>
        option
          .setName("which")
          .setDescription("Which ones")
          .setRequired(true)
          .addChoices(
            { name: "agents", value: "agents" },
            { name: "terminals", value: "terminals" },
            { name: "agents and terminals", value: "both" },
          ),
      ),
  isPrivate: true,
  run: async (interaction, { vm, now }) => {
    const value = interaction.options.getString("which", true);
    const kinds = KINDS.find((kind) => kind === value) ?? "agents";
    const threads = await vm.listThreads();
    const found = killable(threads, kinds, Number.POSITIVE_INFINITY);
    if (found.length === 0) {
      await interaction.editReply("No such thread is open.");
      return;
    }
    const before = Math.max(...found.map(({ createdAt }) => Date.parse(createdAt)));
    const what = found.length === 1 ? "this thread" : `these ${found.length} threads`;
    const head = `⚠️ End ${what}, and everything that runs in ${found.length === 1 ? "it" : "them"}?`;
    await interaction.editReply({
      content: fitLines(
        head,
        found.map((thread) => listLine(thread, now())),
      ),
      components: toComponents([
        {
          id: `kill-all:${kinds}:${before}`,
          label: `End ${found.length === 1 ? "it" : `all ${found.length}`}`,
          style: "danger",
        },
        { id: "keep-all", label: "Keep them", style: "secondary" },
      ]) as [],
    });
  },
};
