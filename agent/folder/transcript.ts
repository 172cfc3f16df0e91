/** The transcript's one writer: gives events their place, keeps lines short, folds what it wrote. */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readSync } from "node:fs";
import { type Blob, boundLine } from "../../shared/agent/bound.ts";
import { type EventBody, parseEvent, type ThreadEvent } from "../../shared/agent/events.ts";
import { emptyFold, FOLD_VERSION, foldEvent } from "../../shared/agent/fold.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { blobPath, threadPath } from "../../shared/agent/paths.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import { AppendFile } from "./append-file.ts";
import { LineFile } from "./line-file.ts";

/** Where events come from: their ids. `null` is the runner itself. */
export type EventSource =
  | { from: "engine"; generation: number; byte: number }
  | { from: "inbox"; byte: number }
  | { from: "start" }
  | null;

/** A place in the transcript and what it comes to there: so that a start need not read it whole. */
export interface Snapshot {
  bytes: number;
  seq: number;
  fold: ThreadFold;
}

const MAX_TRANSCRIPT_LINE = 1024 * 1024;
const TAIL_BYTES = 16 * 1024;
const NEWLINE = 0x0a;

export class Transcript {
  readonly #folder: string;
  readonly #file: AppendFile;
  #fold: ThreadFold;
  #foreignLines = 0;

  /**
   * @param snapshot one that fits
   * @param onOld is given each event that is read behind the snapshot, in order
   */
  constructor(folder: string, snapshot: Snapshot | undefined, onOld: (event: ThreadEvent) => void) {
    this.#folder = folder;
    const path = threadPath(folder, "transcript");
    this.#file = new AppendFile(path);
    this.#fold = snapshot?.fold ?? emptyFold();
    const reader = new LineFile(path, snapshot?.bytes ?? 0, MAX_TRANSCRIPT_LINE, true);
    for (let lines = reader.read(); lines.length > 0; lines = reader.read()) {
      for (const { text } of lines) this.#readOld(text, onOld);
    }
    reader.close();
  }

  #readOld(text: string, onOld: (event: ThreadEvent) => void): void {
    try {
      const event = parseEvent(text);
      if (event) onOld(event);
      this.#fold = event ? foldEvent(this.#fold, event) : { ...this.#fold, seq: this.#fold.seq + 1 };
    } catch {
      this.#foreignLines++; // no event, so it has no number either
    }
  }

  /** Lines behind the snapshot that are no events: somebody else wrote them. */
  get foreignLines(): number {
    return this.#foreignLines;
  }

  /** Whether the line that ends at the snapshot's bytes is the one that it says. */
  static fits(folder: string, { bytes, seq, fold }: Snapshot): boolean {
    if (fold?.v !== FOLD_VERSION || fold.seq !== seq || bytes === 0) return false;
    try {
      const line = lastLine(threadPath(folder, "transcript"), bytes);
      return line !== undefined && (JSON.parse(line) as { seq?: unknown }).seq === seq;
    } catch {
      return false; // the file is another, or gone
    }
  }

  get fold(): ThreadFold {
    return this.#fold;
  }

  get bytes(): number {
    return this.#file.bytes;
  }

  /**
   * Writes the events of one source line in one write. An event of a source line that is in the transcript already
   * is left out.
   * @returns what was written
   */
  append(source: EventSource, bodies: readonly EventBody[], now: Date): ThreadEvent[] {
    const events: ThreadEvent[] = [];
    const blobs: Blob[] = [];
    let text = "";
    for (const [n, body] of bodies.entries()) {
      if (isKnown(this.#fold, source, n)) continue;
      const seq = this.#fold.seq + events.length + 1;
      const bounded = boundLine(body);
      const event = {
        seq,
        id: idOf(source, this.#fold.seq, n),
        ts: now.toISOString(),
        ...bounded.value,
      } as ThreadEvent;
      events.push(event);
      blobs.push(...bounded.blobs);
      text += `${JSON.stringify(event)}\n`;
    }
    if (events.length === 0) return [];
    for (const blob of blobs) this.#keep(blob);
    this.#file.append(text);
    this.#fold = events.reduce(foldEvent, this.#fold);
    return events;
  }

  /** The body of a string that was cut; undefined if it is gone. */
  readBlob(sha256: string): string | undefined {
    try {
      return readFileSync(blobPath(this.#folder, sha256), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  sync(): void {
    this.#file.sync();
  }

  close(): void {
    this.#file.close();
  }

  /** A blob is there before the line that names it. */
  #keep({ sha256, body }: Blob): void {
    const path = blobPath(this.#folder, sha256);
    if (existsSync(path)) return;
    mkdirSync(threadPath(this.#folder, "blobs"), { recursive: true, mode: 0o700 });
    writeWhole(path, body, { isDurable: true, part: `${path}.${process.pid}` });
  }
}

/** The line that ends there; undefined if none does. Most are short, and this is read at every start. */
function lastLine(path: string, end: number): string | undefined {
  const file = openSync(path, "r");
  try {
    for (let length = TAIL_BYTES; ; length *= 8) {
      const tail = Buffer.alloc(Math.min(end, length, MAX_TRANSCRIPT_LINE));
      const count = readSync(file, tail, 0, tail.length, end - tail.length);
      if (count < tail.length || tail.at(-1) !== NEWLINE) return undefined;
      const before = tail.lastIndexOf(NEWLINE, -2);
      if (before < 0 && tail.length === length) continue;
      return tail.toString("utf8", before + 1, tail.length - 1);
    }
  } finally {
    closeSync(file);
  }
}

function idOf(source: EventSource, lastSeq: number, n: number): string {
  switch (source?.from) {
    case "engine":
      return `e${source.generation}-${source.byte}.${n}`;
    case "inbox":
      return `i${source.byte}.${n}`;
    case "start":
      return "s0.0";
    default:
      return `r${lastSeq}.${n}`;
  }
}

function isKnown({ lastEngineId, lastInboxId }: ThreadFold, source: EventSource, n: number): boolean {
  if (source?.from === "engine" && lastEngineId) {
    const { generation, byte } = source;
    if (generation !== lastEngineId.generation) return generation < lastEngineId.generation;
    return byte < lastEngineId.byte || (byte === lastEngineId.byte && n <= lastEngineId.n);
  }
  if (source?.from === "inbox" && lastInboxId) {
    return source.byte < lastInboxId.byte || (source.byte === lastInboxId.byte && n <= lastInboxId.n);
  }
  return false;
}
