/** Gives all steps of an agent as a file. */
import { historyFile } from "../content/lists/history.ts";
import { refusePrivate, refuseWithoutTurns } from "../content/texts.ts";
import type { VmThread } from "../sidecar/vm.ts";
import { action } from "./frame/action.ts";
import type { Reply } from "./frame/controls.ts";
import { threadId } from "./frame/parts.ts";

/** The sidecar gives so many at once. */
const READ_STEPS = 1_000;
/** A file has room for so many; of more, the newest count. */
const MAX_FILE_STEPS = 20_000;

export const stepsFile = action({
  name: "steps-file",
  parts: { threadId },
  right: "read",
  first: "update",
  run: async ({ threadId }, press, { vm, now }) => press.show(await allSteps(vm.thread(threadId), now())),
});

/** Behind every event; as many digits as the sidecar takes. */
export const END = 999_999_999_999_999;
export const NO_STEPS = "it has no steps; /export gives its whole output";

/** @throws AppError */
export async function allSteps(thread: VmThread, now: number): Promise<Reply> {
  const { threadId, number, type, voice } = await thread.get();
  refuseWithoutTurns({ type }, NO_STEPS);
  refusePrivate({ voice });
  const steps = [];
  for (let beforeSeq = END; steps.length < MAX_FILE_STEPS; ) {
    const found = await thread.listSteps({ beforeSeq, limit: READ_STEPS });
    steps.unshift(...found);
    if (found.length < READ_STEPS) break;
    beforeSeq = found[0]?.seq ?? 0;
  }
  const name = `steps-${number ?? threadId}.tsv`;
  return { files: [{ attachment: Buffer.from(historyFile(steps, now)), name }] };
}
