/** What was said in a thread: its end, or what came since an earlier look. */
import type { EventOf } from "../../shared/agent/events.ts";
import { findEvent } from "../../shared/agent/find-event.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { KeptPart } from "./kept-transcript.ts";

/** How much of a transcript is read at once. */
const READ_BYTES = 256 * 1024;

export interface SaidReader {
  readTranscript(
    threadId: ThreadId,
    range: { since: number; limit: number },
  ): Promise<Pick<KeptPart, "lines" | "offset" | "more" | "end">>;
}

export interface Said {
  /** Messages and the agent's words, in order. */
  all: string[];
  /** The agent's last words of its last turn that ended. */
  last: string;
  end: EventOf<"turn_end"> | undefined;
  pause: { by: string; ts: string } | undefined;
  /** Where a later look goes on: so far it was read, in bytes. */
  readTo: number;
  isMore: boolean;
}

/**
 * @param since where an earlier look ended; without it the transcript's end is read
 * @throws AppError `not_found`, `range` if it is not so long
 */
export async function saidIn(reader: SaidReader, threadId: ThreadId, since?: number): Promise<Said> {
  const { end: bytes } = await reader.readTranscript(threadId, { since: since ?? 0, limit: 1 });
  const from = since ?? Math.max(0, bytes - READ_BYTES);
  const { lines, offset, more } = await reader.readTranscript(threadId, { since: from, limit: READ_BYTES });
  let words = "";
  const said: Said = { all: [], last: "", end: undefined, pause: undefined, readTo: offset, isMore: more };
  // The first line may be a line's rest.
  for (const line of lines.split("\n").slice(since === undefined && from > 0 ? 1 : 0)) {
    const event = findEvent(line);
    if (event?.type === "user_message")
      said.all.push(
        `> ${event.content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join(" ")}`,
      );
    if (event?.type === "turn_start") words = "";
    if (event?.type === "control" && event.op === "pause") said.pause = event;
    if (event?.type === "agent_message" && event.parentToolCallId === undefined) {
      words = event.text;
      said.all.push(event.text);
    }
    if (event?.type === "turn_end") [said.last, said.end] = [words, event];
  }
  return said;
}
