import { kindOf } from "../../../../shared/kinds.ts";
import { keepAll } from "../../../actions/keep-all.ts";
import { killAll, killable, WHICH } from "../../../actions/kill-all.ts";
import { fitLines } from "../../../content/lists/lines.ts";
import { listLine } from "../../../content/lists/threads.ts";
import { toMessage } from "../../buttons.ts";
import type { Part } from "./part.ts";

const CHOICES = WHICH.map((type) => ({ name: type === "all" ? "all" : kindOf({ type }).many, value: type }));

export const killAllPart: Part = {
  define: (part) =>
    part
      .setName("kill-all")
      .setDescription("End every open thread of a kind; asks first")
      .addStringOption((option) =>
        option
          .setName("which")
          .setDescription("Which ones")
          .setRequired(true)
          .addChoices(...CHOICES),
      ),
  right: "press",
  isPrivate: true,
  run: async (interaction, { vm, now }) => {
    const which = interaction.options.getString("which", true);
    const threads = await vm.listThreads();
    const found = killable(threads, which, Number.POSITIVE_INFINITY);
    if (found.length === 0) {
      await interaction.editReply("No such thread is open.");
      return;
    }
    const before = Math.max(...found.map(({ createdAt }) => Date.parse(createdAt)));
    const what = found.length === 1 ? "this thread" : `these ${found.length} threads`;
    const head = `⚠️ End ${what}, and everything that runs in ${found.length === 1 ? "it" : "them"}?`;
    const lines = found.map((thread) => listLine(thread, now()));
    const label = `End ${found.length === 1 ? "it" : `all ${found.length}`}`;
    await interaction.editReply(
      toMessage({
        content: fitLines(head, lines),
        buttons: [
          ...killAll.buttons({ which, before }, label, "danger"),
          ...keepAll.buttons({}, "Keep them", "secondary"),
        ],
      }),
    );
  },
};
