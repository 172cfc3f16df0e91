/**
 * One file as it grows, by its path. Logs are rotated: the file is renamed and made anew, while its writer may still
 * write into the old one for a while; or it is emptied.
 */
import type { Stats } from "node:fs";
import { type FileHandle, stat } from "node:fs/promises";
import { type FileProblem, openText } from "../shared/follow/text-file.ts";
import { Lines } from "./lines.ts";

/** How much of a file one look reads. */
const READ_BYTES = 256 * 1024;
/** How far back from its end a file's last lines are looked for. */
const MAX_BACK_BYTES = 1024 * 1024;
/** How many bytes before a place are compared at each look: if they are others now, the file began anew. */
const CHECK_BYTES = 64;
/** How long a file that was renamed is read on after its last byte. */
const OLD_MS = 10_000;
const MAX_OLD = 4;
const NEWLINE = 10;

/** How far a file has been read. All who read it share the place, by whatever name: each line is read once. */
export interface Place {
  position: number;
  /** The last bytes before the position. */
  before: Buffer;
}

interface Open {
  readonly id: string;
  readonly file: FileHandle;
  readonly lines: Lines;
  readonly place: Place;
  /** As it was when it was read to its end. */
  seen: { size: number; mtimeMs: number };
  /** When it last grew. */
  grewAt: number;
}

export interface Looked {
  lines: string[];
  hasMore: boolean;
  /** Something that people should know. */
  remark?: string;
}

function idOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

export class FileTail {
  readonly #path: string;
  /** The places of all files, by their ids. */
  readonly #known: Map<string, Place>;
  #current: Open | undefined;
  #old: Open[] = [];
  /** The file that stands there and is no text. */
  #refusedId: string | undefined;

  constructor(path: string, known: Map<string, Place>) {
    this.#path = path;
    this.#known = known;
  }

  /** Begins with the last lines of what is there. */
  async begin(lines: number, now: number): Promise<void> {
    await this.#open(now);
    const current = this.#current;
    if (current?.place.position === 0) await moveTo(current, await findLastLines(current.file, lines));
  }

  async look(now: number): Promise<Looked> {
    const found: Looked = { lines: [], hasMore: false };
    const stats = await stat(this.#path).catch(() => undefined);
    const current = this.#current;
    if (stats && current && idOf(stats) !== current.id) await this.#readInto(found, current, now);
    const isReplaced = stats !== undefined && idOf(stats) !== current?.id;
    // The old one is read to its end before the new one begins.
    if (isReplaced && !found.hasMore && idOf(stats) !== this.#refusedId) {
      if (current) this.#old.push(current);
      this.#current = undefined;
      const problem = await this.#open(now);
      this.#refusedId = problem === undefined ? undefined : idOf(stats);
      if (problem !== undefined && problem !== "missing")
        found.remark = `${this.#path} is now ${describeProblem(problem)}`;
    }
    await this.#lookAtOld(found, now);
    if (this.#current && !found.hasMore) await this.#readInto(found, this.#current, now);
    return found;
  }

  async close(): Promise<void> {
    for (const { file } of [...this.#old, ...(this.#current ? [this.#current] : [])]) await file.close();
    this.#old = [];
    this.#current = undefined;
  }

  async #lookAtOld(found: Looked, now: number): Promise<void> {
    const left: Open[] = [];
    for (const [i, old] of this.#old.entries()) {
      await this.#readInto(found, old, now);
      const isKept = now - old.grewAt < OLD_MS && i >= this.#old.length - MAX_OLD;
      if (isKept || found.hasMore) left.push(old);
      else {
        found.lines.push(...old.lines.flush(now, true));
        await old.file.close();
      }
    }
    this.#old = left;
  }

  async #open(now: number): Promise<FileProblem | undefined> {
    const opened = await openText(this.#path);
    if ("problem" in opened) return opened.problem;
    const { file, stats } = opened;
    const id = idOf(stats);
    const place = this.#known.get(id) ?? { position: 0, before: Buffer.alloc(0) };
    this.#known.set(id, place);
    this.#current = { id, file, lines: new Lines(), place, seen: { size: 0, mtimeMs: 0 }, grewAt: now };
    // A new file may have the id of one that is gone.
    if (!(await isStillThere(file, place))) await moveTo(this.#current, 0);
    return undefined;
  }

  async #readInto(found: Looked, open: Open, now: number): Promise<void> {
    const { size, mtimeMs } = await open.file.stat();
    if (size !== open.seen.size || mtimeMs !== open.seen.mtimeMs) {
      if (!(await isStillThere(open.file, open.place))) {
        found.lines.push(...open.lines.flush(now, true));
        found.remark = `${this.#path} begins anew`;
        found.hasMore = true; // the next look reads it, below the remark
        return moveTo(open, 0);
      }
      const chunk = Buffer.alloc(Math.max(0, Math.min(READ_BYTES, size - open.place.position)));
      const { bytesRead } = await open.file.read(chunk, 0, chunk.length, open.place.position);
      if (bytesRead > 0) {
        open.grewAt = now;
        found.lines.push(...open.lines.push(chunk.subarray(0, bytesRead), now));
        advance(open.place, chunk.subarray(0, bytesRead));
      }
      if (open.place.position < size && bytesRead > 0) found.hasMore = true;
      else open.seen = { size, mtimeMs };
    }
    found.lines.push(...open.lines.flush(now));
  }
}

async function moveTo({ file, place }: Open, position: number): Promise<void> {
  const before = Buffer.alloc(Math.min(CHECK_BYTES, position));
  const { bytesRead } = await file.read(before, 0, before.length, position - before.length);
  Object.assign(place, { position, before: before.subarray(0, bytesRead) });
}

function advance(place: Place, read: Buffer): void {
  place.position += read.length;
  const before = Buffer.concat([place.before, read.subarray(-CHECK_BYTES)]);
  place.before = Buffer.from(before.subarray(-CHECK_BYTES));
}

async function isStillThere(file: FileHandle, { position, before }: Place): Promise<boolean> {
  const now = Buffer.alloc(before.length);
  const { bytesRead } = await file.read(now, 0, now.length, position - before.length);
  return bytesRead === before.length && now.equals(before);
}

/** The position at which the last `count` lines begin. */
async function findLastLines(file: FileHandle, count: number): Promise<number> {
  const { size } = await file.stat();
  const start = Math.max(0, size - MAX_BACK_BYTES);
  const bytes = Buffer.alloc(size - start);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
  if (count === 0) return start + bytesRead;
  // The last line may lack its end.
  let at = bytesRead - (bytes[bytesRead - 1] === NEWLINE ? 1 : 0);
  for (let left = count; left > 0 && at > 0; left--) at = bytes.lastIndexOf(NEWLINE, at - 1);
  return start + Math.max(0, at + (at > 0 || bytes[0] === NEWLINE ? 1 : 0));
}

function describeProblem(problem: FileProblem): string {
  switch (problem) {
    case "missing":
      return "not there";
    case "denied":
      return "not ours to read";
    case "binary":
      return "a file that is not text";
    default:
      return `a ${problem}, not a file of text`;
  }
}
