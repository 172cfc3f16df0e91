/** A thread's log as one file that Discord takes: as it is, compressed, or the newest part of it compressed. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { AppError } from "../../shared/errors.ts";
import { formatCount } from "../../shared/format-count.ts";

/** Where the log comes from. */
export interface LogSource {
  readonly threadId: string;
  downloadLog(query: { format: "text" }, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined>;
}

export interface ExportOptions {
  thread: LogSource;
  /** What the file may have. */
  maxBytes: number;
  /** Ends the download. */
  signal: AbortSignal;
}

export interface ExportedLog {
  fileName: string;
  data: Buffer;
  /** What the reader must know: that the file is empty, or what it leaves out. */
  note: string | undefined;
}

/** Compressed on its own. Smaller ones waste space, larger ones leave more room unused at the limit. */
const PART_BYTES = 512 * 1024;
/** A download that stands still this long is given up. */
const STALL_MS = 30_000;

const compress = promisify(gzip);

/**
 * Downloads the log as text. What is held at any time is about `maxBytes`, however large the log is: text until that
 * is too much, then compressed parts, the oldest of which go when the newer ones need the room. (Joining them at the
 * end takes the same again for a moment.) Nothing is written to disk.
 * @throws AppError as the client's, `unavailable` where the download stands still; the signal's reason once it fires.
 */
export async function exportLog({ thread, maxBytes, signal }: ExportOptions): Promise<ExportedLog> {
  const { threadId } = thread;
  signal.throwIfAborted();
  const partBytes = Math.max(1, Math.min(PART_BYTES, Math.floor(maxBytes / 16)));
  const space = Buffer.allocUnsafeSlow(partBytes);
  const text = new ByteQueue();
  const parts: { data: Buffer; textBytes: number }[] = [];
  let totalBytes = 0;
  let keptTextBytes = 0;
  let compressedBytes = 0;

  const pack = async (part: Buffer) => {
    const data = await compress(part);
    parts.push({ data, textBytes: part.length });
    compressedBytes += data.length;
    keptTextBytes += part.length;
    while (compressedBytes > maxBytes) {
      const oldest = parts.shift();
      compressedBytes -= oldest?.data.length ?? 0;
      keptTextBytes -= oldest?.textBytes ?? 0;
    }
  };

  for await (const chunk of download(thread, signal)) {
    totalBytes += chunk.length;
    text.push(chunk);
    if (totalBytes <= maxBytes) continue;
    while (text.length >= partBytes) await pack(text.take(partBytes, space));
  }
  if (totalBytes <= maxBytes) {
    const note = totalBytes === 0 ? "The log is empty." : undefined;
    return { fileName: `${threadId}.txt`, data: text.take(totalBytes), note };
  }
  while (text.length > 0) await pack(text.take(partBytes, space));
  signal.throwIfAborted();

  const fileName = `${threadId}.txt.gz`;
  // A gzip file is a series of members: parts in a row are one file, from whichever part it starts.
  const data = Buffer.concat(parts.map((part) => part.data));
  const leftOut = totalBytes - keptTextBytes;
  return { fileName, data, note: leftOut === 0 ? undefined : describeLeftOut(leftOut, totalBytes) };
}

function describeLeftOut(leftOut: number, total: number): string {
  return `The log's text has ${formatCount(total)} bytes. This file has the newest ${formatCount(total - leftOut)}; the ${formatCount(leftOut)} before them did not fit.`;
}

/** The log's text, given up when nothing comes for too long. */
async function* download(
  thread: LogSource,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const stalled = new AbortController();
  const arm = () => setTimeout(() => stalled.abort(), STALL_MS);
  let timer = arm();
  try {
    const either = AbortSignal.any([signal, stalled.signal]);
    for await (const chunk of thread.downloadLog({ format: "text" }, either)) {
      clearTimeout(timer);
      yield chunk;
      timer = arm();
    }
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    if (stalled.signal.aborted) {
      throw new AppError("unavailable", `The log's download stood still for ${STALL_MS / 1_000} seconds.`, {
        cause: error,
      });
    }
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Bytes in the order in which they came. */
class ByteQueue {
  readonly #chunks: Uint8Array[] = [];
  length = 0;

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.length += chunk.length;
  }

  /**
   * Removes at most `bytes`, up to a line's end where there is one within them, or else to the end of a character;
   * everything where there is no more than that. They are put into `space`, where they stay until it is used again.
   */
  take(bytes: number, space = Buffer.allocUnsafeSlow(bytes)): Buffer {
    const taken = space.subarray(0, Math.min(bytes, this.length));
    let filled = 0;
    while (filled < taken.length) {
      const chunk = this.#chunks.shift() ?? new Uint8Array();
      const used = chunk.subarray(0, taken.length - filled);
      taken.set(used, filled);
      filled += used.length;
      if (used.length < chunk.length) this.#chunks.unshift(chunk.subarray(used.length));
    }
    this.length -= filled;
    if (this.length === 0) return taken;
    const end = findCut(taken, this.#chunks[0]?.[0] ?? 0);
    const rest = taken.subarray(end);
    if (rest.length > 0) this.#chunks.unshift(new Uint8Array(rest));
    this.length += rest.length;
    return taken.subarray(0, end);
  }
}

/** Where `bytes` may be cut, `next` being the byte behind them. */
function findCut(bytes: Buffer, next: number): number {
  const line = bytes.lastIndexOf(0x0a) + 1;
  if (line > 0) return line;
  let end = bytes.length;
  // Back to before the start of the character that would be cut: four bytes at most.
  for (let following = next; end > 1 && (following & 0xc0) === 0x80 && bytes.length - end < 4; ) {
    end -= 1;
    following = bytes[end] ?? 0;
  }
  return end;
}
