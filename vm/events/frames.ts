/** Rows of events as they are sent: Server-Sent Events, with the transcript's own lines in them. */
import { closeSync, openSync, readSync } from "node:fs";
import type { ThreadId } from "../../shared/ids.ts";
import type { EventRow } from "../store/events.ts";
import { READ } from "../streams/growing-file.ts";

/** An event as all its readers get it. */
export interface Frame {
  id: number;
  threadId: ThreadId;
  type: string;
  bytes: Buffer;
}

/** Undefined: it was made by no directive, and is no branch. */
export interface Making {
  directive?: string | undefined;
  origin?: { threadId: ThreadId; seq: number } | undefined;
}

/** What is known of threads beside their events. */
export interface Told {
  /** The file of a thread's transcript. */
  transcript: (threadId: ThreadId) => string;
  /** What a thread was made by and goes on from. It never changes. */
  makingOf: (threadId: ThreadId) => Making;
}

export function framesOf(rows: readonly EventRow[], { transcript, makingOf }: Told): Frame[] {
  const makings = new Map<ThreadId, string>();
  const lines = linesOf(rows, transcript);
  return rows.map(({ eventId: id, threadId, type }, index) => {
    const made = makings.get(threadId) ?? textOf(makingOf(threadId));
    makings.set(threadId, made);
    const data = `{"id":${id},"threadId":${JSON.stringify(threadId)},"type":${JSON.stringify(type)},${made}"event":${lines[index] ?? "null"}}`;
    return { id, threadId, type, bytes: Buffer.from(`id: ${id}\nevent: ${type}\ndata: ${data}\n\n`) };
  });
}

/** Each event as a line of JSON, in order; undefined if its transcript was removed or damaged under it. */
export function linesOf(
  rows: readonly EventRow[],
  transcript: Told["transcript"],
): readonly (string | undefined)[] {
  const files = new Map<string, number | undefined>();
  try {
    return rows.map((row) => row.body ?? findLine(fileOf(files, transcript, row.threadId), row));
  } finally {
    for (const fd of files.values()) if (fd !== undefined) closeSync(fd);
  }
}

function textOf({ directive, origin }: Making): string {
  const members = Object.entries({ directive, origin }).filter(([, value]) => value !== undefined);
  return members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`).join("");
}

/** What is told instead of events that are not kept any more; what follows comes after `id`. */
export function resetFrame(id: number): Buffer {
  return Buffer.from(`id: ${id}\nevent: reset\ndata: {"id":${id},"type":"reset"}\n\n`);
}

/** An id without an event: nobody is told anything, and whoever connects again goes on there. */
export function idFrame(id: number): Buffer {
  return Buffer.from(`id: ${id}\n\n`);
}

function fileOf(
  files: Map<string, number | undefined>,
  transcript: (threadId: ThreadId) => string,
  threadId: ThreadId,
): number | undefined {
  if (!files.has(threadId)) files.set(threadId, openIfThere(transcript(threadId)));
  return files.get(threadId);
}

/** Undefined if there is none. Programs of the thread could put something else there. */
function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, READ);
  } catch (error) {
    if (isPassing(error)) throw error;
    return undefined;
  }
}

/** The line, if it is there and still one of JSON: programs of the thread could write to the file. */
function findLine(fd: number | undefined, { byte, bytes }: EventRow): string | undefined {
  if (fd === undefined || byte === null || bytes === null) return undefined;
  const buffer = Buffer.allocUnsafe(bytes);
  try {
    if (readSync(fd, buffer, 0, bytes, byte) < bytes) return undefined;
  } catch {
    return undefined; // it is no file, or the disk has lost it: others' events are told all the same
  }
  const line = buffer.toString("utf8", 0, bytes - 1);
  return isOneObject(line) ? line : undefined;
}

/** The sidecar has too many files open: that is nothing of the transcript's. */
function isPassing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "EMFILE" || code === "ENFILE";
}

function isOneObject(line: string): boolean {
  if (!line.startsWith("{") || /[\r\n]/.test(line)) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
