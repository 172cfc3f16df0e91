/**
 * Changes the files of memories. A write is a row before its file changes, so a sidecar that was killed in between
 * finishes it at its next start.
 */
import { createHash, randomUUID } from "node:crypto";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { MemoryFolder } from "../../shared/memory/memory-folder.ts";
import {
  checkMemoryName,
  DIRECTORY_FILE,
  isMemoryName,
  MAX_MEMORY_BYTES,
  MAX_MEMORY_FILE_BYTES,
  MAX_MEMORY_FILES,
  type MemoryOwner,
} from "../../shared/memory/owner.ts";
import type { Principal } from "../../shared/principal.ts";
import type { MemoryWriteRow, MemoryWriteTable, WriteHow } from "../store/memory-writes.ts";

export interface MemoryWrite {
  writeId: string;
  owner: Pick<MemoryOwner, "folder" | "directory">;
  name: string;
  how: Exclude<WriteHow, "restore">;
  /** Null if the file is to go. */
  text: string | null;
  by: Principal;
  /** The thread of the agent that writes; undefined if a person does. */
  threadId?: ThreadId | undefined;
  /** It is not in the file before a person has let it in. */
  waits?: boolean | undefined;
}

export interface MemoryWriterOptions {
  stateDir: string;
  writes: MemoryWriteTable;
  log: Log;
  now: () => number;
  /** A file has changed. */
  onChange: () => void;
}

export class MemoryWriter {
  readonly #options: MemoryWriterOptions;
  #onEnd: (rows: MemoryWriteRow[]) => void = () => {};

  constructor(options: MemoryWriterOptions) {
    this.#options = options;
  }

  /** Says who is told of writes that were not ended when they were asked for. */
  listen(onEnd: (rows: MemoryWriteRow[]) => void): void {
    this.#onEnd = onEnd;
  }

  /**
   * Writes, or keeps the write until a person decides. The same `writeId` again writes nothing more.
   * @throws AppError `invalid_request`, `not_found` if a file that is to go is not there, `too_large` also if the file is
   *   so long by hand that it could not be put back
   */
  write({ writeId, owner, name, how, text, by, threadId, waits = false }: MemoryWrite): MemoryWriteRow {
    const { writes, now } = this.#options;
    const known = writes.find(writeId);
    if (known) return known;
    checkMemoryName(name, "path");
    if (text?.includes("\0")) throw new AppError("invalid_request", "text: must hold no NUL character.");
    const { folder } = owner;
    const before = this.#textOf(folder, name);
    if (how === "remove" && before === null)
      throw new AppError("not_found", `path: there is no ${folder}/${name}.`);
    const after = textAfter(how, before, text);
    this.#refuseTooMuch(folder, name, after);
    if (owner.directory !== undefined) this.#noteDirectory(folder, owner.directory);
    writes.insert({
      ...{ writeId, folder, name, how, text, by, threadId: threadId ?? null, at: now(), undoes: null },
      ...{
        state: waits ? "waiting" : "writing",
        before,
        beforeHash: hashOf(before),
        afterHash: hashOf(after),
      },
    });
    if (!waits) this.#finish(this.#get(writeId));
    return this.#get(writeId);
  }

  /**
   * Puts back what a write has changed; of an addition to a file that has grown since, takes that out alone.
   * @returns the write that did it; the same again does nothing more while the file is as that has left it
   * @throws AppError `not_found`, `unsupported` if the file is another one by now, or the write is too old; `too_large`
   */
  undo(writeId: string, by: Principal): MemoryWriteRow {
    const { writes, now } = this.#options;
    const row = writes.find(writeId);
    if (!row) throw new AppError("not_found", `There is no write ${JSON.stringify(writeId)} to memory.`);
    const { folder, name } = row;
    const before = this.#textOf(folder, name);
    const known = writes.find(`undo-${writeId}`);
    if (known?.state === "written" && known.afterHash === hashOf(before)) return known;
    if (row.state !== "written") throw new AppError("unsupported", `${name} does not hold this write.`);
    // One that failed, or that was itself undone, does not stand in the way of another.
    const undoId = `undo-${known ? randomUUID() : writeId}`;
    const after = textWithout(row, before);
    this.#refuseTooMuch(folder, name, after);
    writes.insert({
      ...{ writeId: undoId, folder, name, how: "restore", text: after, by, threadId: null, at: now() },
      ...{ state: "writing", undoes: writeId, before, beforeHash: hashOf(before), afterHash: hashOf(after) },
    });
    this.#finish(this.#get(undoId));
    return this.#get(undoId);
  }

  /**
   * Writes what people have let in, and what an earlier sidecar was killed in the middle of. Who listens is told of those
   * that are at their end then: written, or failed.
   */
  finishAll(): void {
    const { writes, log } = this.#options;
    const open = writes.listOpen().filter(({ state }) => state === "writing");
    for (const row of open) {
      try {
        this.#finish(row);
      } catch (error) {
        log.error({ writeId: row.writeId, err: error }, "could not write to memory");
      }
    }
    // What was not even tried to its end is tried again at the next start.
    const ended = open.map(({ writeId }) => this.#get(writeId)).filter(({ state }) => state !== "writing");
    if (ended.length > 0) this.#onEnd(ended);
  }

  #finish(row: MemoryWriteRow): void {
    const { writes } = this.#options;
    const { writeId, folder, name, how, text } = row;
    const before = this.#textToFinish(row);
    const beforeHash = hashOf(before);
    const isDone = beforeHash === row.afterHash && beforeHash !== row.beforeHash;
    const after = textAfter(how, before, text);
    const change = { before, beforeHash, afterHash: hashOf(after) };
    // An addition goes to whatever the file holds by now; anything else was meant for what it held.
    const isOther = how !== "append" && beforeHash !== row.beforeHash;
    const isLong = after !== null && Buffer.byteLength(after) > MAX_MEMORY_FILE_BYTES;
    if (isDone) writes.set(writeId, { ...row, state: "written" });
    else if (isOther || isLong) writes.set(writeId, { ...row, state: "failed" });
    else {
      writes.set(writeId, { ...change, state: "writing" });
      this.#put(writeId, folder, name, after);
      writes.set(writeId, { ...change, state: "written" });
    }
  }

  /** @throws AppError `unavailable`; the write has failed then */
  #put(writeId: string, folder: string, name: string, text: string | null): void {
    const { stateDir, writes } = this.#options;
    let open: MemoryFolder | undefined;
    try {
      open = MemoryFolder.open(stateDir, folder, true);
      open?.write(name, text);
    } catch (cause) {
      writes.fail(writeId);
      const { code = "" } = cause as NodeJS.ErrnoException;
      throw new AppError("unavailable", `${name} can't be written (${code}); try again later.`, { cause });
    } finally {
      open?.close();
      this.#options.onChange();
    }
  }

  /** @throws AppError `too_large` if not all of it could be kept, and put back */
  #textOf(folder: string, name: string): string | null {
    const found = MemoryFolder.use(this.#options.stateDir, folder, (open) => open.read(name));
    if (!found) return null;
    const { bytes } = found.facts;
    if (bytes > MAX_MEMORY_FILE_BYTES)
      throw new AppError(
        "too_large",
        `path: ${name} has ${bytes} bytes, made by hand; at most ${MAX_MEMORY_FILE_BYTES} (64 KiB) could be put back. A person is to shorten it first.`,
      );
    return found.text;
  }

  /** @throws AppError `too_large`; the write has failed then */
  #textToFinish({ writeId, folder, name }: MemoryWriteRow): string | null {
    try {
      return this.#textOf(folder, name);
    } catch (error) {
      if (error instanceof AppError) this.#options.writes.fail(writeId);
      throw error;
    }
  }

  #get(writeId: string): MemoryWriteRow {
    const row = this.#options.writes.find(writeId);
    if (!row) throw new Error(`no write ${writeId}`);
    return row;
  }

  /** @throws AppError `too_large` */
  #refuseTooMuch(folder: string, name: string, after: string | null): void {
    if (after === null) return;
    const bytes = Buffer.byteLength(after);
    const refuse = (why: string) =>
      new AppError("too_large", `text: ${why}; shorten or remove something first.`);
    if (bytes > MAX_MEMORY_FILE_BYTES)
      throw refuse(`${name} would have ${bytes} bytes; at most ${MAX_MEMORY_FILE_BYTES} (64 KiB)`);
    const listed = MemoryFolder.use(this.#options.stateDir, folder, (open) => open.list(isMemoryName));
    const others = (listed?.files ?? []).filter((file) => file.name !== name);
    if (listed?.isMore || others.length >= MAX_MEMORY_FILES)
      throw refuse(`this memory has ${MAX_MEMORY_FILES} files, which is the most`);
    const total = others.reduce((sum, file) => sum + file.bytes, bytes);
    if (total > MAX_MEMORY_BYTES)
      throw refuse(`this memory would have ${total} bytes; at most ${MAX_MEMORY_BYTES} (1 MiB)`);
  }

  /** The folder is made, and says whose it is. */
  #noteDirectory(folder: string, directory: string): void {
    const open = MemoryFolder.open(this.#options.stateDir, folder, true);
    try {
      if (open && open.read(DIRECTORY_FILE)?.text.trim() !== directory)
        open.write(DIRECTORY_FILE, `${directory}\n`);
    } finally {
      open?.close();
    }
  }
}

/** The file's text after a write; null if it is gone. Pure. */
function textAfter(how: WriteHow, before: string | null, text: string | null): string | null {
  if (how !== "append" || text === null) return text;
  const ended = before === null || before === "" || before.endsWith("\n") ? (before ?? "") : `${before}\n`;
  return `${ended}${text}${text.endsWith("\n") ? "" : "\n"}`;
}

/** The file's text without a write. Pure. @throws AppError `unsupported` */
function textWithout(row: MemoryWriteRow, now: string | null): string | null {
  const { how, before, beforeHash, afterHash, text, name } = row;
  if (before === null && beforeHash !== null)
    throw new AppError("unsupported", `${name}: this write is too old to be undone.`);
  if (hashOf(now) === afterHash) return before;
  const after = textAfter(how, before, text);
  if (how === "append" && now !== null && after !== null && now.startsWith(after))
    return (before ?? "") + now.slice(after.length);
  throw new AppError("unsupported", `${name} was changed since: undo what came later first.`);
}

export function hashOf(text: string | null): string | null {
  return text === null ? null : createHash("sha256").update(text).digest("hex");
}
