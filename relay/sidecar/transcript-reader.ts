/** A part of a long transcript, found by its events' numbers: the file is never read from its beginning. */
import type { TranscriptReply } from "../../shared/agent/api.ts";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { findEvent } from "../../shared/agent/find-event.ts";

/** Twice the longest line: a block holds one that is whole, wherever it begins. */
const BLOCK_BYTES = 128 * 1024;
const READ_BYTES = 512 * 1024;
/** So much is read for one look; of a longer part the rest is left out. */
const MAX_BYTES = 8 * 1024 * 1024;

export interface TranscriptSource {
  readTranscript(since: number, limit: number): Promise<TranscriptReply>;
}

export interface TranscriptPart {
  events: ThreadEvent[];
  /** It goes on, but is longer than anybody reads. */
  isCut: boolean;
}

/**
 * The events from the number `seq` on.
 * @param isLast ends it: that event is the last one of the part.
 */
export async function readFrom(
  source: TranscriptSource,
  seq: number,
  isLast: (event: ThreadEvent) => boolean,
): Promise<TranscriptPart> {
  const events: ThreadEvent[] = [];
  const begin = await findBefore(source, seq);
  for (let at = begin; at - begin < MAX_BYTES; ) {
    const { lines, offset } = await source.readTranscript(at, READ_BYTES);
    if (offset === at) return { events, isCut: false };
    for (const line of lines.split("\n")) {
      const event = findEvent(line);
      if (!event || event.seq < seq) continue;
      events.push(event);
      if (isLast(event)) return { events, isCut: false };
    }
    at = offset;
  }
  return { events, isCut: true };
}

/** The events whose lines are whole between two offsets in bytes. @throws AppError */
export async function readBetween(
  source: TranscriptSource,
  since: number,
  end: number,
): Promise<ThreadEvent[]> {
  const events: ThreadEvent[] = [];
  for (let offset = since; offset < end; ) {
    const reply = await source.readTranscript(offset, end - offset);
    const lines = reply.lines.split("\n").filter((line) => line !== "");
    // From the middle of a line on it is no line.
    for (const line of offset === since && since > 0 ? lines.slice(1) : lines) {
      const event = findEvent(line);
      if (event) events.push(event);
    }
    if (reply.offset <= offset) break;
    offset = reply.offset;
  }
  return events;
}

/** The events of the transcript's last bytes. @throws AppError */
export async function readNewest(source: TranscriptSource, maxBytes: number): Promise<ThreadEvent[]> {
  const { end } = await source.readTranscript(0, 1);
  return readBetween(source, Math.max(0, end - maxBytes), end);
}

/** Where a line begins that stands at the event of that number, or not far before it. By halves. */
async function findBefore(source: TranscriptSource, seq: number): Promise<number> {
  let low = 0;
  let { end: high } = await source.readTranscript(0, 1);
  while (high - low > BLOCK_BYTES) {
    const middle = Math.floor((low + high) / 2);
    const found = firstEvent(await source.readTranscript(middle, BLOCK_BYTES));
    if (found && found.event.seq <= seq) low = found.byte;
    else high = middle;
  }
  return low;
}

/** The first event of a reply whose line is whole. What stands before it may be the rest of a line. */
function firstEvent({ lines, start }: TranscriptReply): { event: ThreadEvent; byte: number } | undefined {
  let byte = start;
  for (const [i, line] of lines.split("\n").entries()) {
    const event = i === 0 ? undefined : findEvent(line);
    if (event) return { event, byte };
    byte += Buffer.byteLength(line) + 1;
  }
  return undefined;
}
