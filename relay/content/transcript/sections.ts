/** Sections of details as an answer: in its text if they fit, else as a file too. */
import type { ThreadEvent } from "../../../shared/agent/events.ts";
import type { Reply } from "../../actions/frame/controls.ts";
import { MAX_FILE_BYTES } from "../../actions/frame/whole.ts";
import type { TranscriptPart } from "../../sidecar/transcript-reader.ts";
import type { VmThread } from "../../sidecar/vm.ts";
import { type DetailSection, modelLine, plainSections, renderSections } from "./details.ts";

export function isTurnEnd({ type }: ThreadEvent): boolean {
  return type === "turn_end";
}

export async function sectionsReply(
  thread: VmThread,
  what: string,
  { events, isCut }: TranscriptPart,
  toSections: (events: readonly ThreadEvent[]) => DetailSection[],
  fileName = "details.txt",
): Promise<Reply> {
  const sections = toSections(await wholeEvents(thread, events));
  const notes = [modelLine(events), isCut ? "-# It is very long: the first 8 MiB of it are here." : ""];
  const below = notes.filter((note) => note !== "").join("\n");
  const head = `🔎 **${what}**`;
  if (sections.length === 0)
    return { content: [head, "No step was taken.", below].join("\n").trim(), files: [] };
  const { text, isClipped } = renderSections(head, sections, below);
  if (!isClipped) return { content: text, files: [] };
  const file = Buffer.from(plainSections(sections, MAX_FILE_BYTES));
  return {
    content: text,
    files: [{ attachment: file.subarray(0, 2 * MAX_FILE_BYTES), name: fileName }],
  };
}

/** With their cut strings whole again, as far as a file can hold them. */
async function wholeEvents(thread: VmThread, events: readonly ThreadEvent[]): Promise<ThreadEvent[]> {
  let room = MAX_FILE_BYTES;
  const whole: ThreadEvent[] = [];
  for (const event of events) {
    const bytes = Object.values(event.blobs ?? {}).reduce((sum, blob) => sum + blob.bytes, 0);
    room -= bytes;
    whole.push(bytes > 0 && room > 0 ? await thread.whole(event, room + bytes) : event);
  }
  return whole;
}
