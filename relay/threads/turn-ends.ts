/** How an agent's turns ended, and with which words: read from its transcript's end. */
import type { EventOf, ThreadEvent } from "../../shared/agent/events.ts";
import { readBetween, type TranscriptSource } from "../sidecar/transcript-reader.ts";

/** How a turn ended, in short: the thread itself says more. */
export interface TurnEnd {
  /** The number of the event that ended it. */
  readonly seq: number;
  /** What the agent said last; why it could not go on, if it failed; empty if there is nothing to say. */
  readonly words: string;
}

const FIRST_BYTES = 64 * 1024;
/** Further back nobody looks: ends before it are not told. */
const MAX_BYTES = 1024 * 1024;

/** The turns that ended after the event `afterSeq`, the oldest first. @throws AppError */
export async function listTurnEnds(vm: TranscriptSource, afterSeq: number): Promise<TurnEnd[]> {
  const { end } = await vm.readTranscript(0, 1);
  for (let bytes = FIRST_BYTES; ; bytes *= 4) {
    const since = Math.max(0, end - bytes);
    const events = await readBetween(vm, since, end);
    // A turn whose beginning is not there may have said its last words before.
    const isAll = since === 0 || bytes >= MAX_BYTES || (events[0]?.seq ?? 0) <= afterSeq;
    if (isAll || startsBefore(events, afterSeq)) return turnEnds(events).filter(({ seq }) => seq > afterSeq);
  }
}

/** Whether the first turn that ends after `afterSeq` begins in these events. */
function startsBefore(events: readonly ThreadEvent[], afterSeq: number): boolean {
  const first = events.find(({ type, seq }) => type === "turn_end" && seq > afterSeq);
  if (first?.type !== "turn_end") return false;
  return events.some((event) => event.type === "turn_start" && event.turnId === first.turnId);
}

/** Pure. */
export function turnEnds(events: readonly ThreadEvent[]): TurnEnd[] {
  const ends: TurnEnd[] = [];
  let said = "";
  for (const event of events) {
    if (event.type === "turn_start") said = "";
    else if (event.type === "agent_message" && event.parentToolCallId === undefined) said = event.text;
    else if (event.type === "turn_end") {
      // What was cut off goes on or fails, and says so then; whoever stopped it knows.
      const isOver = event.stopReason !== "interrupted" && event.stopReason !== "cancelled";
      if (isOver) ends.push({ seq: event.seq, words: wordsOf(said, event) });
    } else if (event.type === "failure") ends.push({ seq: event.seq, words: `⚠️ ${event.message}` });
  }
  return ends;
}

function wordsOf(said: string, { error, output }: EventOf<"turn_end">): string {
  if (said === "") return error ?? "";
  return output === "invalid_output" ? `${said}\n⚠️ ${error ?? output}` : said;
}
