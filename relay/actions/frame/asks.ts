/** What the actions on an ask share: finding it, and answering it with what was chosen. */
import type { AskReply } from "../../../shared/agent/api.ts";
import { AppError } from "../../../shared/errors.ts";
import type { VmThread } from "../../sidecar/vm.ts";
import type { Choices } from "./parts.ts";

/** An open ask, also by a request that it stands for after a restart. @throws AppError `ask_ended` */
export async function findAsk(thread: VmThread, requestId: string): Promise<AskReply> {
  const ask = (await thread.listAsks()).find((candidate) => candidate.requestId === requestId);
  if (!ask) throw new AppError("ask_ended", "This has been answered already, or it is not asked any more.");
  return ask;
}

export function questionsOf({ request }: AskReply) {
  return request.type === "elicitation_request" ? request.questions : [];
}

type Asked = ReturnType<typeof questionsOf>[number];

/** Answers an ask with what was chosen of its questions' options. @throws AppError */
export async function choose(thread: VmThread, requestId: string, choices: Choices): Promise<void> {
  const content = answersOf(questionsOf(await findAsk(thread, requestId)), choices);
  if (Object.keys(content).length === 0)
    throw new AppError("invalid_request", "This question has no such answer.");
  await thread.answerAsk(requestId, { action: "accept", content });
}

/** The answers in words, by question. */
function answersOf(questions: readonly Asked[], choices: Choices): Record<string, string> {
  const answers = questions.flatMap(({ question, options }, q): [string, string][] => {
    const labels = (choices[q] ?? []).flatMap((i) =>
      options[i] ? [options[i].label.trim() || `${i + 1}`] : [],
    );
    return labels.length === 0 ? [] : [[question, labels.join(", ")]];
  });
  return Object.fromEntries(answers);
}
