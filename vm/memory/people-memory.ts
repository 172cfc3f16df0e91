/** Lets people read and write all memories. */
import { randomUUID } from "node:crypto";
import { AppError } from "../../shared/errors.ts";
import { MemoryFolder } from "../../shared/memory/memory-folder.ts";
import {
  checkMemoryName,
  DIRECTORY_FILE,
  directoryOwner,
  isMemoryName,
  isOwnerFolder,
  parseFullPath,
} from "../../shared/memory/owner.ts";
import type { Memory, MemoryFile, MemoryFileReply, MemoryWriteInfo } from "../../shared/memory-api.ts";
import { type Principal, printPrincipal } from "../../shared/principal.ts";
import type { MemoryWriteRow, MemoryWriteTable, WriteHow } from "../store/memory-writes.ts";
import { resolveDirectory } from "../threads/directory.ts";
import { hashOf, type MemoryWriter } from "./writer.ts";

const MAX_SHOWN_WRITES = 20;
/** A machine has fewer directories with a memory. */
const MAX_MEMORIES = 1_000;

interface PeopleMemoryOptions {
  /** A real path. */
  stateDir: string;
  reposDir: string;
  writes: MemoryWriteTable;
  memoryWriter: MemoryWriter;
}

interface Wanted {
  path: string;
  dir?: string | undefined;
}

export class PeopleMemory {
  readonly #options: PeopleMemoryOptions;

  constructor(options: PeopleMemoryOptions) {
    this.#options = options;
  }

  /** @throws AppError `invalid_directory` */
  async list(dir: string | undefined): Promise<Memory[]> {
    const folders = dir === undefined ? this.#folders() : [await this.folderOf(dir)];
    return folders.flatMap((folder) => this.#describe(folder) ?? []);
  }

  /** The folder of the memory of a directory below REPOS_DIR. @throws AppError `invalid_directory` */
  async folderOf(dir: string): Promise<string> {
    return (await this.#ownerOf(dir)).folder;
  }

  /** @throws AppError `not_found`, `invalid_request`, `invalid_directory` */
  async get(wanted: Wanted): Promise<MemoryFileReply> {
    const { folder, name } = await this.#find(wanted);
    const found = MemoryFolder.use(this.#options.stateDir, folder, (open) => open.read(name));
    if (!found) throw new AppError("not_found", `path: there is no ${folder}/${name}.`);
    const writes = this.#options.writes.listOf(folder, name, MAX_SHOWN_WRITES);
    const { bytes, changedMs } = found.facts;
    const [last] = writes;
    const by = writerOf(last, found.text);
    const facts = { path: `${folder}/${name}`, bytes, changedAt: new Date(changedMs).toISOString(), by };
    return { ...facts, text: found.text, writes: writes.map(infoOf) };
  }

  /** @param text null removes the file @throws AppError `invalid_request`, `too_large`, `not_found` */
  async write(
    wanted: Wanted,
    text: string | null,
    how: Exclude<WriteHow, "restore">,
    by: Principal,
  ): Promise<MemoryWriteInfo> {
    const { folder, name, directory } = await this.#find(wanted);
    const owner = { folder, ...(directory !== undefined && { directory }) };
    const row = this.#options.memoryWriter.write({ writeId: randomUUID(), owner, name, how, text, by });
    if (row.state !== "written")
      throw new AppError("unavailable", `${name} was changed at the same time; try again.`);
    return infoOf(row);
  }

  /** @throws AppError `not_found`, `unsupported` */
  undo(writeId: string, by: Principal): MemoryWriteInfo {
    const row = this.#options.memoryWriter.undo(writeId, by);
    if (row.state !== "written")
      throw new AppError("unavailable", `${row.name} was changed at the same time; try again.`);
    return infoOf(row);
  }

  #describe(folder: string): Memory | undefined {
    return MemoryFolder.use(this.#options.stateDir, folder, (open): Memory => {
      const { files, isMore } = open.list(isMemoryName);
      const directory = open.read(DIRECTORY_FILE)?.text.trim() ?? null;
      const described = files.map(({ name, bytes, changedMs }): MemoryFile => {
        const [last] = this.#options.writes.listOf(folder, name, 1);
        const by = writerOf(last, open.read(name)?.text ?? null);
        return {
          ...{ path: `${folder}/${name}`, bytes, changedAt: new Date(changedMs).toISOString() },
          by,
        };
      });
      return { folder, directory, files: described, isMore };
    });
  }

  #folders(): string[] {
    const { stateDir } = this.#options;
    const below = (top: string) =>
      MemoryFolder.use(stateDir, top, (open) => open.listFolders(MAX_MEMORIES))?.map(
        (name) => `${top}/${name}`,
      ) ?? [];
    return [...below("main"), ...below("dirs"), "user"].filter(isOwnerFolder);
  }

  async #find({
    path,
    dir,
  }: Wanted): Promise<{ folder: string; name: string; directory?: string | undefined }> {
    if (dir === undefined) return parseFullPath(path);
    const { folder, directory } = await this.#ownerOf(dir);
    checkMemoryName(path, "path");
    return { folder, name: path, directory };
  }

  async #ownerOf(dir: string) {
    return directoryOwner((await resolveDirectory(this.#options.reposDir, dir)).path);
  }
}

/** @returns null if the file was changed by hand since its last write */
function writerOf(last: MemoryWriteRow | undefined, text: string | null): string | null {
  return last?.afterHash === hashOf(text) ? printPrincipal(last.by) : null;
}

function infoOf({ writeId, folder, name, how, by, at }: MemoryWriteRow): MemoryWriteInfo {
  return { writeId, path: `${folder}/${name}`, how, by: printPrincipal(by), at: new Date(at).toISOString() };
}
