/**
 * Files that grow at their end and are read by byte offset: logs and transcripts. One process appends, others read;
 * what an offset stands for never changes. What is a whole piece (characters, lines) is the reader's to say.
 */
import { closeSync, constants, fdatasyncSync, openSync, readSync } from "node:fs";
import { open } from "node:fs/promises";

/** A program of the thread could put a pipe in the file's place: none is waited for, reading it fails. */
export const READ = constants.O_RDONLY | constants.O_NONBLOCK;
/** So near its end a file is read at once, without the event loop. */
const FRESH_BYTES = 64 * 1024;

/**
 * At most `length` bytes from `position`: fewer if the file ends sooner, none if it is gone.
 * @param end where the file ended when it was looked at.
 */
export async function readBytes(
  file: string,
  { position, length, end }: { position: number; length: number; end: number },
): Promise<Buffer> {
  if (length <= 0) return Buffer.alloc(0);
  try {
    // What was written just now is in the kernel's memory: there is no disk to wait for, and four waits less.
    return end - position <= FRESH_BYTES
      ? readFresh(file, position, length)
      : await readWhole(file, position, length);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return Buffer.alloc(0); // it was removed since its length was asked for
  }
}

function readFresh(file: string, position: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  const fd = openSync(file, READ);
  try {
    return buffer.subarray(0, readSync(fd, buffer, 0, length, position));
  } finally {
    closeSync(fd);
  }
}

async function readWhole(file: string, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  const handle = await open(file, READ);
  try {
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  } finally {
    await handle.close();
  }
}

/** What was read from the file so far is on the disk for good when this returns. */
export function syncData(file: string): void {
  const fd = openSync(file, READ);
  try {
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
