/** The inbox of an agent thread: the sidecar's side. The sidecar alone appends to it, the runner alone reads it. */
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from "node:fs";
import { boundLine } from "../../shared/agent/bound.ts";
import { addUse, type LimitsOfChild, NO_USE, type Use, useSchema } from "../../shared/agent/budget.ts";
import { type InboxLine, parseInboxLine } from "../../shared/agent/inbox.ts";
import { limitsSchema } from "../../shared/agent/limit-schema.ts";
import { blobPath, threadPath } from "../../shared/agent/paths.ts";
import type { Block } from "../../shared/agent/values.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { isHuman, parsePrincipal } from "../../shared/principal.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import { readLines } from "../streams/lines.ts";

export interface FoundMessage {
  text: string | null;
  /** Its attachments. */
  files: readonly Block[];
}

/** What tells one event of a type from another. */
export type NotedField = "callId" | "fileId" | "messageId" | "noteId" | "threadId" | "title";
/** The types of events that the sidecar writes itself. */
export type NotedType = Extract<InboxLine, { op: "event" }>["event"]["type"];

export interface ToldChildren {
  known: ReadonlySet<ThreadId>;
  open: ReadonlyMap<ThreadId, LimitsOfChild | undefined>;
  endedUse: Use;
}

export class Inbox {
  readonly #folder: string;
  readonly #file: string;
  /** Where the last line begins; undefined if there is none. */
  #lastByte: number | undefined;

  /** @param folder the thread's. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#file = threadPath(folder, "inbox");
    for (const lines of readLines(this.#file, 0)) this.#lastByte = lines.at(-1)?.byte;
  }

  /**
   * Appends lines in one write and waits until the disk has them: either all of them are in the inbox or none is.
   * @returns where the last of them begins
   * @throws Error if the disk does not take them; nothing is appended then.
   */
  append(lines: readonly InboxLine[]): number {
    const bounded = lines.map((line) => boundLine(line, Number.POSITIVE_INFINITY));
    for (const { sha256, body } of bounded.flatMap(({ blobs }) => blobs)) this.#writeBlob(sha256, body);
    const fd = openSync(this.#file, "a+", 0o600);
    try {
      const { size } = statSync(this.#file);
      // A crash may have left half a line: it stays one line of its own, and the runner says that it is torn.
      const start = endsLine(fd, size) ? "" : "\n";
      const texts = bounded.map(({ value }) => `${JSON.stringify(value)}\n`);
      const bytes = Buffer.from(start + texts.join(""));
      try {
        for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
        fsyncSync(fd);
      } catch (error) {
        ftruncateSync(fd, size);
        throw error;
      }
      const last = size + bytes.length - Buffer.byteLength(texts.at(-1) ?? "");
      this.#lastByte = last;
      return last;
    } finally {
      closeSync(fd);
    }
  }

  /** Whether a line lies behind the one that begins at `byte`; with undefined, whether there is any line. */
  hasLineAfter(byte: number | undefined): boolean {
    return this.#lastByte !== undefined && (byte === undefined || this.#lastByte > byte);
  }

  /** The ids of the messages in it: after a crash they tell which inputs have gone in. */
  messageIds(): Set<string> {
    const lines = this.#linesAfter(undefined);
    return new Set(lines.flatMap((line) => (line.op === "message" ? [line.messageId] : [])));
  }

  /** When a person has written last, in milliseconds since 1970; undefined if none has. */
  lastPersonAt(): number | undefined {
    const last = this.#linesAfter(undefined).findLast(
      (line) => line.op === "message" && isHuman(parsePrincipal(line.source)),
    );
    return last && Date.parse(last.ts);
  }

  /** Whether an event of this type, about whatever the field names, stands in it. */
  hasEvent(type: NotedType, field: NotedField, id: string): boolean {
    return this.#linesAfter(undefined).some(
      (line) => line.op === "event" && line.event.type === type && line.event[field] === id,
    );
  }

  /** The children that were told to begin, with what is set aside for each; what those that were told to end have used. */
  children(): ToldChildren {
    const known = new Set<ThreadId>();
    const open = new Map<ThreadId, LimitsOfChild | undefined>();
    let endedUse = NO_USE;
    for (const line of this.#linesAfter(undefined)) {
      if (line.op !== "event") continue;
      const { type, limits, used } = line.event;
      const { data: threadId } = knownThreadId.safeParse(line.event["threadId"]);
      if (threadId === undefined) continue;
      if (type === "thread_spawned") {
        known.add(threadId);
        open.set(threadId, limitsSchema.safeParse(limits).data);
      }
      if (type !== "thread_ended") continue;
      open.delete(threadId);
      endedUse = addUse(endedUse, useSchema.safeParse(used).data ?? NO_USE);
    }
    return { known, open, endedUse };
  }

  /** A message with the last words that its writer gave it; `text` is null once it was taken back. */
  findMessage(messageId: string): FoundMessage | undefined {
    let found: FoundMessage | undefined;
    for (const line of this.#linesAfter(undefined)) {
      if (!("messageId" in line) || line.messageId !== messageId) continue;
      if (line.op === "message") found = partsOf(line.content);
      else if (found) found = { ...found, text: line.op === "edit" ? textOf(line.content) : null };
    }
    return found;
  }

  /** What the runner has not read yet: the lines behind the one that begins at `byte`; with undefined, all. */
  unread(byte: number | undefined): InboxLine[] {
    return this.hasLineAfter(byte) ? this.#linesAfter(byte) : [];
  }

  #linesAfter(after: number | undefined): InboxLine[] {
    const lines = [...readLines(this.#file, after ?? 0)].flat();
    return lines.flatMap(({ byte, text }) => {
      if (byte === after) return [];
      try {
        return [parseInboxLine(text)];
      } catch {
        return []; // a torn or foreign line: the runner writes a notice of it
      }
    });
  }

  #writeBlob(sha256: string, body: Buffer): void {
    const file = blobPath(this.#folder, sha256);
    // Its name says what is in it, but a crash of an older version may have left half of it there.
    if (statSync(file, { throwIfNoEntry: false })?.size === body.length) return;
    mkdirSync(threadPath(this.#folder, "blobs"), { recursive: true, mode: 0o700 });
    // The runner may be writing the same one.
    writeWhole(file, body, { isDurable: true, part: `${file}.${process.pid}` });
  }
}

/** Its files are its own, whatever its words become. */
function partsOf(content: readonly Block[]): Pick<FoundMessage, "text" | "files"> {
  return { text: textOf(content), files: content.filter(({ type }) => type !== "text") };
}

function textOf(content: readonly Block[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

function endsLine(fd: number, size: number): boolean {
  if (size === 0) return true;
  const last = Buffer.alloc(1);
  readSync(fd, last, 0, 1, size - 1);
  return last[0] === 0x0a;
}
