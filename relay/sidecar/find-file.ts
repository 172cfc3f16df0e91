/** Reads a file of the sidecar's that goes into a message. */
import { MAX_SENT_FILE_BYTES } from "../../shared/agent/attachments.ts";
import { AppError } from "../../shared/errors.ts";
import { readAtMost } from "../../shared/read-at-most.ts";

/** @returns undefined if it is gone, or larger than Discord takes */
export async function findFile(
  name: string,
  download: AsyncIterable<Uint8Array>,
): Promise<{ name: string; data: Buffer } | undefined> {
  try {
    const bytes = await readAtMost(download, MAX_SENT_FILE_BYTES);
    return bytes && { name, data: Buffer.from(bytes.buffer) };
  } catch (error) {
    const isGone = error instanceof AppError && ["not_found", "thread_ended"].includes(error.code);
    if (isGone) return undefined;
    throw error;
  }
}
