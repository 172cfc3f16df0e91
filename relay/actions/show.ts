/** Shows all of what an agent asks about, which its message has cut. */
import type { AskReply } from "../../shared/agent/api.ts";
import { detailParts } from "../../shared/agent/detail.ts";
import { writeOutHidden } from "../../shared/clean-text.ts";
import { plainParts, renderParts } from "../content/transcript/ask-detail.ts";
import { inline } from "../content/transcript/inline.ts";
import type { VmThread } from "../sidecar/vm.ts";
import { action } from "./frame/action.ts";
import { findAsk } from "./frame/asks.ts";
import type { Reply } from "./frame/controls.ts";
import { someId } from "./frame/parts.ts";
import { MAX_FILE_BYTES, MAX_UNITS, whole } from "./frame/whole.ts";

export const show = action({
  name: "show",
  parts: { requestId: someId },
  right: "read",
  first: "private reply",
  isOfSession: true,
  run: async ({ requestId }, press, { vm }) =>
    press.show(wholeAsk(await findWholeAsk(vm.thread(press.threadId), requestId))),
});

/** An open ask with nothing cut that a file can hold. @throws AppError `ask_ended` */
async function findWholeAsk(thread: VmThread, requestId: string): Promise<AskReply> {
  const { request, call, ...ask } = await findAsk(thread, requestId);
  return {
    ...ask,
    request: await thread.whole(request, MAX_FILE_BYTES),
    call: call && (await thread.whole(call, MAX_FILE_BYTES)),
  };
}

function wholeAsk({ request, call }: AskReply): Reply {
  if (request.type === "elicitation_request") {
    const text = request.questions
      .map(({ question, options }) =>
        [
          question,
          ...options.map(({ label, description = "" }, i) => `${i + 1}. ${label}\n   ${description}`),
        ].join("\n"),
      )
      .join("\n\n");
    return whole("What the agent asks:", "question.txt", writeOutHidden(text), undefined);
  }
  const parts = detailParts(request, call ?? undefined);
  const isDiff = parts.some(({ language }) => language === "diff");
  const name = request.plan === undefined ? (isDiff ? "ask.diff" : "ask.txt") : "plan.md";
  return whole(inline(request.title, 400), name, plainParts(parts), renderParts(parts, MAX_UNITS));
}
