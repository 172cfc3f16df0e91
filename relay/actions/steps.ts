/** Shows the steps of an agent before or after those that are shown: another page of `/thread history`. */
import { HISTORY_PAGE, type HistoryPage, historyText } from "../content/lists/history.ts";
import { refusePrivate, refuseWithoutTurns } from "../content/texts.ts";
import type { VmThread } from "../sidecar/vm.ts";
import { action } from "./frame/action.ts";
import type { Button, Reply } from "./frame/controls.ts";
import { stepsFrom, threadId } from "./frame/parts.ts";
import { END, NO_STEPS, stepsFile } from "./steps-file.ts";

export const steps = action({
  name: "steps",
  parts: { threadId, from: stepsFrom },
  right: "read",
  first: "update",
  run: async ({ threadId, from }, press, { vm, now }) =>
    press.show(await stepsPage(vm.thread(threadId), from, now())),
});

/** One page: the last steps before an event, or the first ones after it. @throws AppError */
export async function stepsPage(
  thread: VmThread,
  from: { beforeSeq: number } | { afterSeq: number },
  now: number,
): Promise<Reply> {
  const { threadId, number, type, voice } = await thread.get();
  refuseWithoutTurns({ type }, NO_STEPS);
  refusePrivate({ voice });
  const isBackwards = "beforeSeq" in from;
  // One more than is shown tells whether there are more.
  const found = await thread.listSteps({ ...from, limit: HISTORY_PAGE + 1 });
  const isMore = found.length > HISTORY_PAGE;
  const shown = isBackwards ? found.slice(-HISTORY_PAGE) : found.slice(0, HISTORY_PAGE);
  const hasOlder = isBackwards ? isMore : true;
  const hasNewer = isBackwards ? from.beforeSeq !== END : isMore;
  const page = { threadId, number, steps: shown, now };
  return { content: historyText(page), buttons: pageButtons(page, hasOlder, hasNewer) };
}

function pageButtons(
  { threadId, steps: shown }: HistoryPage,
  hasOlder: boolean,
  hasNewer: boolean,
): Button[] {
  const [first, last] = [shown[0], shown.at(-1)];
  if (!first || !last) return [];
  const [older, newer] = [{ beforeSeq: first.seq }, { afterSeq: last.seq }];
  return [
    ...(hasOlder ? steps.buttons({ threadId, from: older }, "◀ Older", "secondary") : []),
    ...(hasNewer ? steps.buttons({ threadId, from: newer }, "Newer ▶", "secondary") : []),
    ...stepsFile.buttons({ threadId }, "As a file", "secondary"),
  ];
}
