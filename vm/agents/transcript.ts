/** A thread's transcript as the sidecar reads it: only what the disk has for good is stored or shown. */
import { readFileSync, statSync } from "node:fs";
import { parseEvent, type ThreadEvent } from "../../shared/agent/events.ts";
import { type Live, liveSchema } from "../../shared/agent/files.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { readBytes, syncData } from "../streams/growing-file.ts";
import { readLines } from "../streams/lines.ts";

const NEWLINE = 0x0a;

/** New events in groups, each with the position behind it. */
export function* readEvents(
  folder: string,
  from: number,
  onForeign: (byte: number, error: unknown) => void,
): Generator<{ events: ThreadEvent[]; end: number }> {
  const file = threadPath(folder, "transcript");
  for (const lines of readLines(file, from)) {
    syncData(file);
    const events: ThreadEvent[] = [];
    for (const { text, byte } of lines) {
      try {
        const event = parseEvent(text);
        if (event) events.push(event);
      } catch (error) {
        onForeign(byte, error); // one line that nobody understands must not hide all that follow
      }
    }
    const last = lines.at(-1);
    yield { events, end: last ? last.byte + last.bytes : from };
  }
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
