/** Opens files that are to be followed, and refuses whatever is no text. */
import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { openRegularFile, UnfitFile } from "../regular-file.ts";

export type FileProblem = "missing" | "denied" | "directory" | "pipe" | "socket" | "device" | "binary";

export type Opened = { file: FileHandle; stats: Stats } | { problem: FileProblem };

const SAMPLE_BYTES = 8 * 1024;
/** The shares of its first bytes that a text of any language stays below. */
const MAX_CONTROL_SHARE = 0.05;
const MAX_BROKEN_SHARE = 0.3;

/**
 * Opens a regular file of text; says what stands there if it is none. A pipe or a device is not opened.
 */
export async function openText(path: string): Promise<Opened> {
  let file: FileHandle | undefined;
  try {
    file = await openRegularFile(path);
    const stats = await file.stat();
    if (await holdsText(file, stats)) return { file, stats };
    await file.close();
    return { problem: "binary" };
  } catch (error) {
    await file?.close();
    if (error instanceof UnfitFile) return { problem: problemOf(error.stats) };
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { problem: "missing" };
    if (code === "EISDIR") return { problem: "directory" };
    if (["EACCES", "EPERM", "ELOOP", "ENAMETOOLONG", "ENXIO", "EIO"].includes(code))
      return { problem: "denied" };
    throw error;
  }
}

function problemOf(stats: Stats): FileProblem {
  if (stats.isDirectory()) return "directory";
  if (stats.isFIFO()) return "pipe";
  return stats.isSocket() ? "socket" : "device";
}

async function holdsText(file: FileHandle, { size }: Stats): Promise<boolean> {
  const sample = Buffer.alloc(Math.min(size, SAMPLE_BYTES));
  const { bytesRead } = await file.read(sample, 0, sample.length, 0);
  return isText(sample.subarray(0, bytesRead));
}

/** Whether bytes from a file's beginning are text: no NUL, few control characters, mostly UTF-8 or ASCII. */
export function isText(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false;
  const isControl = (byte: number) =>
    (byte < 32 && !(byte >= 7 && byte <= 13) && byte !== 27) || byte === 127;
  const controls = bytes.reduce((sum, byte) => sum + Number(isControl(byte)), 0);
  const text = bytes.toString("utf8");
  const broken = text.split("\ufffd").length - 1;
  return controls <= bytes.length * MAX_CONTROL_SHARE && broken <= bytes.length * MAX_BROKEN_SHARE;
}
