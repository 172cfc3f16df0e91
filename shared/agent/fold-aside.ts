/**
 * The part of the fold that knows asks which were put aside: the engine was told that its call did not run, and goes on
 * with other work; the person's decision is told later, and lets the same call run once.
 */
import type { AskAnswer, OpenAsk, ThreadFold } from "./fold-types.ts";

/** How long after the decision the same call runs without another ask. */
export const ALLOWED_MS = 24 * 3_600_000;
/** More are not kept: the oldest are asked about anew. */
const MAX_ALLOWED = 50;

type Allowed = NonNullable<ThreadFold["allowed"]>[number];

/** The ask is beside the work from here on; of two about the same call the older one goes on under the newer one's name. */
export function putAside(
  fold: ThreadFold,
  {
    requestId,
    key,
    files,
    sameAs,
  }: { requestId: string; key: string; files: string; sameAs?: string | undefined },
): ThreadFold {
  const older = fold.asks.find((ask) => ask.requestId === sameAs);
  const asks = fold.asks.flatMap((ask): OpenAsk[] => {
    if (ask === older) return [];
    if (ask.requestId !== requestId) return [ask];
    const replaces = older ? [...older.replaces, older.requestId, ...ask.replaces].slice(-20) : ask.replaces;
    return [{ ...ask, replaces, aside: { key, files } }];
  });
  return { ...fold, asks };
}

/** A person has decided on an ask that was put aside. */
export function decideAside(
  fold: ThreadFold,
  { requestId, aside, options, kind }: OpenAsk,
  answer: AskAnswer | undefined,
  ts: string,
): ThreadFold {
  if (aside === undefined || kind === "question" || answer?.kind !== "permission") return fold;
  const option = options.find(({ optionId }) => optionId === answer.optionId);
  if (!option?.kind.startsWith("allow")) return fold;
  const { by } = answer;
  const allowed: Allowed = { ...aside, requestId, optionId: option.optionId, at: ts, ...(by && { by }) };
  return { ...fold, allowed: [...(fold.allowed ?? []), allowed].slice(-MAX_ALLOWED) };
}

/** @param requestId of the ask whose decision has let a call run */
export function useAllowed(fold: ThreadFold, requestId: string): ThreadFold {
  return { ...fold, allowed: fold.allowed?.filter((one) => one.requestId !== requestId) };
}
