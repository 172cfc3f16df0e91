import type { Thread } from "../../../../shared/api.ts";
import { HISTORY_PAGE, historyButtons, historyFile, historyText } from "../../../content/lists/history.ts";
import type { Vm, VmThread } from "../../../sidecar/vm.ts";
import { toComponents } from "../../buttons.ts";
import { getMeant, type Part, refuseWithoutTurns, threadOption } from "./part.ts";

/** The sidecar gives so many at once. */
const READ_STEPS = 1_000;
/** A file has room for so many; of more, the newest count. */
const MAX_FILE_STEPS = 20_000;

export const history: Part = {
  define: (part) =>
    part
      .setName("history")
      .setDescription("Show an agent's steps, the newest first to see")
      .addStringOption(threadOption("Which agent; this one if left out"))
      .addBooleanOption((option) => option.setName("file").setDescription("All of them, as a file")),
  isPrivate: true,
  run: async (interaction, context) => {
    const thread = await getMeant(interaction, context);
    const isFile = interaction.options.getBoolean("file") ?? false;
    const { vm, now } = context;
    await interaction.editReply(
      isFile
        ? await makeFile(vm, thread, now())
        : await makePage(vm.thread(thread.threadId), { beforeSeq: END }, now()),
    );
  },
};

/** Behind every event; as many digits as the sidecar takes. */
export const END = 999_999_999_999_999;

/** One page: the last steps before an event, or the first ones after it. @throws AppError */
export async function makePage(
  thread: VmThread,
  from: { beforeSeq: number } | { afterSeq: number },
  now: number,
) {
  const { threadId, number, type } = await thread.get();
  refuseWithoutTurns({ type }, "it has no steps; /export gives its whole output");
  const isBackwards = "beforeSeq" in from;
  // One more than is shown tells whether there are more.
  const found = await thread.listSteps({ ...from, limit: HISTORY_PAGE + 1 });
  const isMore = found.length > HISTORY_PAGE;
  const steps = isBackwards ? found.slice(-HISTORY_PAGE) : found.slice(0, HISTORY_PAGE);
  const hasOlder = isBackwards ? isMore : true;
  const hasNewer = isBackwards ? from.beforeSeq !== END : isMore;
  const page = { threadId, number, steps, hasOlder, hasNewer, now };
  return { content: historyText(page), components: toComponents(historyButtons(page)) as [] };
}

/** @throws AppError */
export async function makeFile(vm: Vm, { threadId, number, type }: Thread, now: number) {
  refuseWithoutTurns({ type }, "it has no steps; /export gives its whole output");
  const steps = [];
  for (let beforeSeq = END; steps.length < MAX_FILE_STEPS; ) {
    const found = await vm.thread(threadId).listSteps({ beforeSeq, limit: READ_STEPS });
    steps.unshift(...found);
    if (found.length < READ_STEPS) break;
    beforeSeq = found[0]?.seq ?? 0;
  }
  const name = `steps-${number ?? threadId}.tsv`;
  return { files: [{ attachment: Buffer.from(historyFile(steps, now)), name }] };
}
