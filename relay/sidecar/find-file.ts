/** Reads a file of the sidecar's that goes into a message. */
import { MAX_SENT_FILE_BYTES } from "../../shared/agent/attachments.ts";
import { AppError } from "../../shared/errors.ts";

/** @returns undefined if it is gone, or larger than Discord takes */
export async function findFile(
  name: string,
  download: AsyncIterable<Uint8Array>,
): Promise<{ name: string; data: Buffer } | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of download) {
      bytes += chunk.length;
      if (bytes > MAX_SENT_FILE_BYTES) return undefined;
      chunks.push(chunk);
    }
  } catch (error) {
    const isGone = error instanceof AppError && ["not_found", "thread_ended"].includes(error.code);
    if (isGone) return undefined;
    throw error;
  }
  return { name, data: Buffer.concat(chunks) };
}
