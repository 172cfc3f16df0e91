/** The part of the fold that knows what waits for a person beside the work: messages of other agents, writes to memory. */
import { isHuman, parsePrincipal, type Source } from "../principal.ts";
import type { OpenAsk, ThreadFold, WaitingMessage } from "./fold-types.ts";

/** Let in by a person; any other answer drops the message, or the write. */
export const LET_IN_OPTION = "let_in";

/** Asks that the work waits for: one about another agent's message or a write to memory, or that was put aside, is beside it. */
export function asksOfWork({ asks }: Pick<ThreadFold, "asks">): OpenAsk[] {
  return asks.filter(isOfWork);
}

export function hasAskOfWork({ asks }: Pick<ThreadFold, "asks">): boolean {
  return asks.some(isOfWork);
}

function isOfWork({ heldMessageId, memoryWriteId, aside }: OpenAsk): boolean {
  return heldMessageId === undefined && memoryWriteId === undefined && aside === undefined;
}

/** After a message has come: a person's begins to count anew, a program's or a job's changes nothing. */
export function hopsAfter(
  { hops = 0 }: Pick<ThreadFold, "hops">,
  message: { hops?: number | undefined; source: Source },
): number {
  if (message.hops !== undefined) return Math.max(hops, message.hops);
  return isHuman(parsePrincipal(message.source)) ? 0 : hops;
}

export function holdMessage(fold: ThreadFold, message: WaitingMessage): ThreadFold {
  return { ...fold, held: [...(fold.held ?? []), message] };
}

/** A person has seen it: it goes in as if they had written it, or it is gone. */
export function settleHeld(fold: ThreadFold, messageId: string, isLetIn: boolean): ThreadFold {
  const message = fold.held?.find((one) => one.messageId === messageId);
  if (!message) return fold;
  const held = fold.held?.filter((one) => one !== message);
  return isLetIn ? { ...fold, held, hops: 0, messages: [...fold.messages, message] } : { ...fold, held };
}
