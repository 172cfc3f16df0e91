/** Whether the engine's conversation is left, and a new one is begun from what the transcript holds. Pure. */
import type { ThreadConfig } from "../shared/agent/config.ts";
import { asksOfWork } from "../shared/agent/fold-held.ts";
import type { ThreadFold } from "../shared/agent/fold-types.ts";
import type { Conversation, Launch } from "./engine.ts";

/** An engine's record of a conversation that is longer takes long to start with, and may never be made shorter again. */
export const MAX_CONVERSATION_BYTES = 20_000_000;

export interface LastConversation {
  sessionId: string | undefined;
  /** The look at it. */
  found: Conversation;
  last: Launch | undefined;
  /** How long the transcript is. */
  transcriptBytes: number;
}

/**
 * Why a conversation that may still be there is not gone on with; undefined if it is.
 * @returns `handed_over`: it was held in another directory. `outgrown`: it has become too long, and nothing in it waits to
 * be taken up. A beginning that the model was never told of keeps its reason.
 */
export function whyAnew(
  fold: ThreadFold,
  { handedOver }: Pick<ThreadConfig, "handedOver">,
  { sessionId, found, last, transcriptBytes }: LastConversation,
): Launch["anew"] {
  if (sessionId === undefined) return undefined;
  if (sessionId === handedOver?.sessionId) return "handed_over";
  const isLast = last?.sessionId === sessionId;
  if (isLast && !found.exists && last.anew) return last.anew;
  const bytes = found.bytes ?? (isLast ? transcriptBytes - (last.beganBytes ?? transcriptBytes) : 0);
  const isTakenUp = fold.cutOffs.at !== null || found.delivered.size > 0 || asksOfWork(fold).length > 0;
  return found.exists && !isTakenUp && bytes > MAX_CONVERSATION_BYTES ? "outgrown" : undefined;
}

export const NO_CONVERSATION: Conversation = { exists: false, delivered: new Set() };

/**
 * The look at a conversation. One that was to begin with what an older one held is none before the model was told that,
 * also if the engine has a record of it by then.
 */
export function toldConversation(
  { engine }: ThreadFold,
  { sessionId, found, last }: Omit<LastConversation, "transcriptBytes">,
): Conversation {
  if (!last?.reseeded || last.sessionId !== sessionId || found.delivered.size > 0) return found;
  const hasTaken = engine?.generation === last.generation && engine.takenCount > 0;
  return hasTaken ? found : NO_CONVERSATION;
}

/** The notice to people that a conversation was begun anew, and why. */
export function anewNotice(anew: NonNullable<Launch["anew"]>) {
  // The person who handed it over was told so.
  if (anew === "handed_over") return [];
  const title = "The conversation begins anew";
  const description =
    "Its record at the engine has grown too long. The agent is told the newest of what was said, its memory, and what is open.";
  return [{ type: "notice" as const, severity: "info" as const, title, description }];
}
