/** The whole of what did not fit a message: as text if that is short, as a file if not. */
import type { Reply } from "./controls.ts";

export const MAX_UNITS = 1_800;
/** Enough for what a person reads; more would cost memory for nothing. */
export const MAX_FILE_BYTES = 4 * 1024 * 1024;

/** @param shown the same as markdown, if there is a form of it. */
export function whole(
  head: string,
  name: string,
  text: string,
  shown: { text: string; isClipped: boolean } | undefined,
): Reply {
  if (shown && !shown.isClipped && head.length + shown.text.length < MAX_UNITS + 100) {
    return { content: `${head}\n${shown.text}`, files: [] };
  }
  const bytes = Buffer.from(text);
  const isCut = bytes.length > MAX_FILE_BYTES;
  const note = isCut ? `\nOf ${bytes.length} bytes these are the first ${MAX_FILE_BYTES}.` : "";
  return { content: `${head}${note}`, files: [{ attachment: bytes.subarray(0, MAX_FILE_BYTES), name }] };
}
