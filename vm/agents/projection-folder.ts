/**
 * Files that are written into a place where agents work: through no link, over no file with a second name, and nothing but
 * what is named here is removed.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { openFolder, pathIn } from "../../shared/no-link.ts";

const OPEN = constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

export class ProjectionFolder {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** Calls `work` with the folder, which is closed when that has ended. @throws Error as {@link openFolder} */
  static use<T>(
    base: string,
    parts: readonly string[],
    isMade: boolean,
    work: (folder: ProjectionFolder) => T,
  ): T {
    const fd = openFolder(base, parts, isMade);
    try {
      return work(new ProjectionFolder(fd));
    } finally {
      closeSync(fd);
    }
  }

  /** Replaces a file as a whole, whatever lies there. */
  write(name: string, data: string | Uint8Array, mode = 0o600): void {
    const part = this.#path(`.part-${randomBytes(8).toString("hex")}`);
    try {
      writeFileSync(part, data, { mode, flag: "wx" });
      renameSync(part, this.#path(name));
    } catch (error) {
      rmSync(part, { force: true });
      throw error;
    }
  }

  /** @param size that the file must have @returns false, and nothing is written, if it is not the file that it was */
  append(name: string, data: Uint8Array, size: number): boolean {
    return (
      this.#use(name, constants.O_WRONLY | constants.O_APPEND, (fd) => {
        if (fstatSync(fd).size !== size) return false;
        let at = 0;
        try {
          while (at < data.length) at += writeSync(fd, data, at);
        } catch (error) {
          ftruncateSync(fd, size); // a full disk: no half of a line stays
          throw error;
        }
        return true;
      }) ?? false
    );
  }

  /** @returns undefined if there is no such file @throws Error if it is longer, or no file of its own */
  read(name: string, maxBytes: number): string | undefined {
    return this.#use(name, constants.O_RDONLY, (fd) => {
      const { size } = fstatSync(fd);
      if (size > maxBytes) throw new Error(`${name} has more than ${maxBytes} bytes`);
      const bytes = Buffer.alloc(size);
      return bytes.toString("utf8", 0, readSync(fd, bytes, 0, size, 0));
    });
  }

  remove(name: string): void {
    rmSync(this.#path(name), { force: true });
  }

  /** Removes a folder in it, if that is empty. */
  removeFolder(name: string): void {
    try {
      rmdirSync(this.#path(name));
    } catch (error) {
      if (!/^(ENOENT|ENOTDIR|ENOTEMPTY|EEXIST)$/.test(codeOf(error))) throw error;
    }
  }

  #path(name: string): string {
    return pathIn(this.#fd, name);
  }

  #use<T>(name: string, flags: number, work: (fd: number) => T): T | undefined {
    let fd: number;
    try {
      fd = openSync(this.#path(name), flags | OPEN);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile() || stats.nlink !== 1) throw new Error(`${name} is no file of its own`);
      return work(fd);
    } finally {
      closeSync(fd);
    }
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}
