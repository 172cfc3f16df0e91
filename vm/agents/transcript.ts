/** A thread's transcript as the sidecar reads it: only what the disk has for good is stored or shown. */
import { readFileSync, statSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { type EventOf, parseEvent, type ThreadEvent } from "../../shared/agent/events.ts";
import { type Live, liveSchema } from "../../shared/agent/files.ts";
import { findEvent } from "../../shared/agent/find-event.ts";
import { blobPath, threadPath } from "../../shared/agent/paths.ts";
import { askedSeqOf } from "../../shared/agent/turn-id.ts";
import { readBytes, syncData } from "../streams/growing-file.ts";
import { readLines } from "../streams/lines.ts";

const NEWLINE = 0x0a;
/** Some milliseconds' work: what is read at once is also stored at once, while nobody else is served. */
const SLICE_BYTES = 64 * 1024;

/** An event with its line's place in the transcript. */
export interface PlacedEvent {
  event: ThreadEvent;
  /** Where the line begins. */
  byte: number;
  /** Its length, with its end. */
  bytes: number;
}

/** The next events, as many as one slice holds, with the position behind them; undefined if there is nothing new. */
export function readEvents(
  folder: string,
  from: number,
  onForeign: (byte: number, error: unknown) => void,
): { events: PlacedEvent[]; end: number } | undefined {
  const file = threadPath(folder, "transcript");
  for (const lines of readLines(file, from, SLICE_BYTES)) {
    syncData(file);
    const events: PlacedEvent[] = [];
    for (const { text, byte, bytes } of lines) {
      try {
        const event = parseEvent(text);
        if (event) events.push({ event, byte, bytes });
      } catch (error) {
        onForeign(byte, error); // one line that nobody understands must not hide all that follow
      }
    }
    const last = lines.at(-1);
    return { events, end: last ? last.byte + last.bytes : from };
  }
  return undefined;
}

/**
 * What came of an undo.
 * @param from in the transcript: it is told behind that
 * @param inboxByte where the line that asks for it begins in the inbox
 */
export function findUndo(folder: string, from: number, inboxByte: number): EventOf<"undo"> | undefined {
  let askedSeq: number | undefined;
  for (let position = from; ; ) {
    const read = readEvents(folder, position, () => undefined);
    if (!read) return undefined;
    for (const { event } of read.events) {
      if (event.type === "control" && event.id === `i${inboxByte}.0`) askedSeq = event.seq;
      if (event.type === "undo" && askedSeqOf(event.undoId) === askedSeq) return event;
    }
    position = read.end;
  }
}

/** Whether its transcript tells of the turn, or the undo. */
export async function hasTurn(folder: string, turnId: string): Promise<boolean> {
  for (const lines of readLines(threadPath(folder, "transcript"), 0, SLICE_BYTES)) {
    for (const { text } of lines) {
      if (!text.includes(turnId)) continue;
      const event = findEvent(text);
      if (event?.type === "turn_start" && event.turnId === turnId) return true;
      if (event?.type === "undo" && event.undoId === turnId) return true;
    }
    await setImmediate(); // others are served meanwhile
  }
  return false;
}

/** These tool calls, as they stand in the transcript before `end`. */
export function findCalls(folder: string, end: number, toolCallIds: string[]): EventOf<"tool_call">[] {
  const found: EventOf<"tool_call">[] = [];
  for (const lines of readLines(threadPath(folder, "transcript"), 0)) {
    for (const { text, byte } of lines) {
      if (byte >= end) return found;
      if (!text.includes('"tool_call"') || !toolCallIds.some((id) => text.includes(id))) continue;
      const event = findEvent(text);
      if (event?.type === "tool_call" && toolCallIds.includes(event.toolCallId)) found.push(event);
    }
  }
  return found;
}

/**
 * Whole lines from `since` up to `end`, at most `limit` bytes but at least one line.
 * @param end what the disk has for good.
 */
export async function readTranscript(
  folder: string,
  { since, end, limit }: { since: number; end: number; limit: number },
): Promise<{ lines: string; offset: number }> {
  const file = threadPath(folder, "transcript");
  const rest = end - since;
  for (let wanted = Math.min(limit, rest); wanted > 0; wanted = Math.min(wanted * 2, rest)) {
    const bytes = await readBytes(file, { position: since, length: wanted, end });
    const length = bytes.lastIndexOf(NEWLINE) + 1;
    const isAll = bytes.length < wanted || wanted >= rest;
    if (length > 0 || isAll) return { lines: bytes.toString("utf8", 0, length), offset: since + length };
  }
  return { lines: "", offset: since };
}

/** At most `limit` bytes of a blob, whole characters of it; undefined if there is no such blob. */
export async function readBlob(
  folder: string,
  sha256: string,
  { since, limit }: { since: number; limit: number },
): Promise<{ text: string; offset: number; end: number } | undefined> {
  const file = blobPath(folder, sha256);
  const end = statSync(file, { throwIfNoEntry: false })?.size;
  if (end === undefined) return undefined;
  const bytes = await readBytes(file, { position: since, length: Math.min(limit, end - since), end });
  const isLast = since + bytes.length >= end;
  const whole = isLast ? bytes : bytes.subarray(0, wholeCharacters(bytes));
  return { text: whole.toString("utf8"), offset: since + whole.length, end };
}

/** How many bytes there are before a last character that is cut off; all if there would be none. */
function wholeCharacters(bytes: Buffer): number {
  let start = bytes.length - 1;
  while (start > 0 && bytes.length - start < 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  const first = bytes[start] ?? 0;
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return start + length <= bytes.length || start === 0 ? bytes.length : start;
}

/** How long the transcript is; 0 if there is none yet. */
export function transcriptSize(folder: string): number {
  return statSync(threadPath(folder, "transcript"), { throwIfNoEntry: false })?.size ?? 0;
}

/** What happens this moment; undefined if the runner says nothing of it, or something that is no such file. */
export function findLive(folder: string): Live | undefined {
  try {
    return liveSchema.parse(JSON.parse(readFileSync(threadPath(folder, "live"), "utf8")));
  } catch {
    return undefined; // it may vanish at any time, and no page depends on it
  }
}
