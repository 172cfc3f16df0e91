/** The files of one owner's memory, reached through no link: an agent without a sandbox could have put one there. */

import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  opendirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { openFolder, pathIn } from "../no-link.ts";
import { openRegular, UnfitFile } from "../regular-file.ts";
import { MAX_MEMORY_FILE_BYTES, MAX_MEMORY_FILES, MEMORY_FOLDER } from "./owner.ts";

export interface MemoryFileFacts {
  name: string;
  bytes: number;
  /** Since the epoch. */
  changedMs: number;
}

export class MemoryFolder {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /**
   * Opens an owner's folder; the caller closes it.
   * @param folder below {@link MEMORY_FOLDER}
   * @param isMade whether it is made if it is not there
   * @returns undefined if it is not there, or if something on the way is no folder
   */
  static open(stateDir: string, folder: string, isMade = false): MemoryFolder | undefined {
    try {
      return new MemoryFolder(
        openFolder(realpathSync(stateDir), [MEMORY_FOLDER, ...folder.split("/")], isMade),
      );
    } catch (error) {
      if (isMade || !/^(ENOENT|ENOTDIR|ELOOP)$/.test(codeOf(error))) throw error;
      return undefined;
    }
  }

  /** As {@link MemoryFolder.open}, closed when `work` has ended; `work` is not called if there is no folder. */
  static use<T>(stateDir: string, folder: string, work: (folder: MemoryFolder) => T): T | undefined {
    const open = MemoryFolder.open(stateDir, folder);
    if (!open) return undefined;
    try {
      return work(open);
    } finally {
      open.close();
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** @returns undefined if there is no such file, or if it is no file of its own: a link, a FIFO */
  read(name: string, maxBytes = MAX_MEMORY_FILE_BYTES): { text: string; facts: MemoryFileFacts } | undefined {
    const fd = this.#openFile(name);
    if (fd === undefined) return undefined;
    try {
      const facts = factsOf(name, fd);
      if (!facts) return undefined;
      const bytes = Buffer.alloc(Math.min(facts.bytes, maxBytes));
      let length = 0;
      while (length < bytes.length) {
        const read = readSync(fd, bytes, length, bytes.length - length, length);
        if (read === 0) break;
        length += read;
      }
      return { text: wholeText(bytes.subarray(0, length)), facts };
    } finally {
      closeSync(fd);
    }
  }

  /** The files whose names `isWanted`, by name: at most {@link MAX_MEMORY_FILES}, and whether there are more. */
  list(isWanted: (name: string) => boolean): { files: MemoryFileFacts[]; isMore: boolean } {
    const names: string[] = [];
    const folder = opendirSync(this.#path("."));
    let isMore = false;
    try {
      for (let seen = 0; ; seen++) {
        const entry = folder.readSync();
        if (!entry) break;
        if (names.length >= MAX_MEMORY_FILES || seen > 10 * MAX_MEMORY_FILES) {
          isMore = true;
          break;
        }
        if (entry.isFile() && isWanted(entry.name)) names.push(entry.name);
      }
    } finally {
      folder.closeSync();
    }
    const files = names.sort().flatMap((name) => {
      const fd = this.#openFile(name);
      if (fd === undefined) return [];
      try {
        return factsOf(name, fd) ?? [];
      } finally {
        closeSync(fd);
      }
    });
    return { files, isMore };
  }

  /** The names of the folders in it. */
  listFolders(max: number): string[] {
    const names: string[] = [];
    const folder = opendirSync(this.#path("."));
    try {
      for (let entry = folder.readSync(); entry && names.length < max; entry = folder.readSync())
        if (entry.isDirectory()) names.push(entry.name);
    } finally {
      folder.closeSync();
    }
    return names.sort();
  }

  /** Replaces a file as a whole; it is on the disk when this returns. @param text null removes it */
  write(name: string, text: string | null): void {
    if (text === null) rmSync(this.#path(name), { force: true });
    else {
      const part = this.#path(`.part-${randomBytes(8).toString("hex")}`);
      try {
        writeFileSync(part, text, { mode: 0o600, flag: "wx", flush: true });
        renameSync(part, this.#path(name));
      } catch (error) {
        rmSync(part, { force: true });
        throw error;
      }
    }
    const fd = openSync(this.#path("."), constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }

  #path(name: string): string {
    return pathIn(this.#fd, name);
  }

  #openFile(name: string): number | undefined {
    try {
      return openRegular(this.#path(name), false);
    } catch (error) {
      if (error instanceof UnfitFile) return undefined;
      if (/^(ENOENT|ELOOP|ENXIO|EISDIR|EACCES)$/.test(codeOf(error))) return undefined;
      throw error;
    }
  }
}

/** Undefined if it is no file, or has another name elsewhere. */
function factsOf(name: string, fd: number): MemoryFileFacts | undefined {
  const stats = fstatSync(fd);
  if (!stats.isFile() || stats.nlink !== 1) return undefined;
  return { name, bytes: stats.size, changedMs: Math.round(stats.mtimeMs) };
}

/** Without the half of a character that a cut has left. */
function wholeText(bytes: Buffer): string {
  let end = bytes.length;
  const tail = Math.max(0, end - 4);
  for (let at = end - 1; at >= tail; at--) {
    const byte = bytes[at] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (at + length > end) end = at;
    break;
  }
  return bytes.subarray(0, end).toString("utf8");
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}
