/** Reads from the end of the transcript, however long it is, all that a new conversation is told of an old one. */
import type { ThreadEvent } from "../shared/agent/events.ts";
import { findEvent } from "../shared/agent/find-event.ts";
import { linesBack } from "./folder/lines-back.ts";
import type { ThreadFiles } from "./thread-files.ts";

/** A shorter transcript is read whole. */
const SHORT_BYTES = 1024 * 1024;
/** Nothing further back is looked at. */
const MAX_BYTES = 64 * 1024 * 1024;
/** This many characters of what was said are enough: a seed holds fewer. */
const ENOUGH_CHARACTERS = 150_000;
const MAX_LINE_BYTES = 1024 * 1024;

/** Events that a conversation is made of; all others are passed over unread. */
const SAID =
  /^.{0,200}?"type":"(?:user_message|message_edit|message_withdraw|delivery|delivery_update|agent_message|tool_call|compaction_update)"/;

/** The newest events of which a conversation is made, in their order, behind the newest summary of the rest. */
export function recentEvents(
  thread: Pick<ThreadFiles, "history" | "transcriptPath" | "transcriptBytes" | "whole" | "fold">,
): Iterable<ThreadEvent> {
  const { transcriptPath: path, transcriptBytes: size, whole, fold } = thread;
  if (size <= SHORT_BYTES) return thread.history();
  const found: ThreadEvent[] = [];
  let characters = 0;
  let hasSummary = fold.compactedSeq === undefined;
  for (const { byte, text } of linesBack(path, MAX_LINE_BYTES)) {
    const isEnough = characters > ENOUGH_CHARACTERS;
    if ((isEnough && hasSummary) || size - byte > MAX_BYTES) break;
    const event = SAID.test(text) ? findEvent(text) : undefined;
    if (!event) continue;
    const isSummary = event.type === "compaction_update" && event.summary !== undefined;
    if (!isEnough || isSummary) found.push(isSummary ? whole(event) : event);
    hasSummary ||= isSummary;
    characters += lengthOf(event);
  }
  return found.reverse();
}

function lengthOf(event: ThreadEvent): number {
  if (event.type === "agent_message") return event.text.length;
  if (event.type === "tool_call") return event.title.length;
  if (event.type !== "user_message") return 0;
  return event.content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0);
}
