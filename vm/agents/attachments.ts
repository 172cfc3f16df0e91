/** A thread's files: uploaded whole or not at all, listed, read, removed. The sidecar alone writes the folder. */
import { randomUUID } from "node:crypto";
import { constants, createReadStream, createWriteStream, type ReadStream, type Stats } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  type Attachment,
  findImageType,
  IMAGE_BEGINNING_BYTES,
  MAX_ATTACHMENT_BYTES,
  MAX_ATTACHMENTS,
  MAX_IMAGE_BYTES,
  MAX_IMAGES_BYTES,
  numberedName,
  safeFileName,
} from "../../shared/agent/attachments.ts";
import { THREAD_FILES } from "../../shared/agent/paths.ts";
import type { Block } from "../../shared/agent/values.ts";
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { formatCount } from "../../shared/format-count.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import { type NamedFile, nameFile } from "../../shared/named-file.ts";
import type { BrowserFolders } from "../browser/folders.ts";
import type { Store } from "../store/store.ts";
import { diskFull } from "../streams/disk.ts";
import { threadEnded, whyOver } from "../threads/ending.ts";
import { folderGone } from "./agent-threads.ts";
import type { AgentFolders } from "./folders.ts";

/** What is left of uploads that a crash cut off goes after this time. */
const STALE_MS = 60 * 60_000;
const PART = ".part-";
const COMPARED_BYTES = 256 * 1024;

export interface AttachmentsOptions {
  store: Store;
  folders: AgentFolders;
  browserFolders: BrowserFolders;
  freeDiskBytes: () => number;
  now: () => number;
}

export class Attachments {
  readonly #options: AttachmentsOptions;
  /** One after the other of each thread: what one adds, the next counts. */
  readonly #keeping = new KeyedQueue();

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /**
   * Keeps a file. It has its name once it is on the disk as a whole. The same bytes under the same name again are the
   * same file, so an upload may be repeated.
   * @param name whatever somebody calls it
   * @throws AppError `not_found`, `thread_ended`, `too_large`, `unavailable` if the disk is full
   */
  async add(threadId: ThreadId, name: string, bytes: Readable): Promise<Attachment> {
    this.#checkOpen(threadId);
    const folder = await this.#makeFolder(threadId, safeFileName(name));
    const part = join(folder, `${PART}${randomUUID()}`);
    try {
      const size = await this.#write(part, bytes);
      const kept = await this.#keeping.run(threadId, () => keepAs(folder, part, safeFileName(name), size));
      await syncFolder(folder);
      return await describe(folder, kept);
    } finally {
      await rm(part, { force: true });
    }
  }

  async list(threadId: ThreadId): Promise<Attachment[]> {
    const folder = this.#folderOf(threadId);
    const names = await namesIn(folder);
    const found = await Promise.all(names.map((name) => describe(folder, name).catch(() => undefined)));
    return found.filter((file) => file !== undefined);
  }

  /** The caller ends the stream. @throws AppError `not_found` */
  async open(threadId: ThreadId, name: string): Promise<Attachment & { stream: ReadStream }> {
    const { handle, stats } = await openFile(this.#folderOf(threadId), name);
    const imageType = await readImageType(handle);
    const stream = createReadStream("", { fd: handle, start: 0, end: Math.max(0, stats.size - 1) });
    return { name, bytes: stats.size, imageType, stream };
  }

  /** @throws AppError `not_found` */
  async remove(threadId: ThreadId, name: string): Promise<void> {
    const folder = this.#folderOf(threadId);
    if (!(await namesIn(folder)).includes(name)) throw noFile(name);
    await rm(join(folder, name), { force: true });
  }

  /**
   * What a message says of its files: pictures that the model can see as pictures, all others by their path.
   * @throws AppError `not_found` if one of them is not there
   */
  async blocksOf(threadId: ThreadId, names: readonly string[]): Promise<Block[]> {
    const folder = this.#folderOf(threadId);
    let imageBytes = 0;
    const blocks: Block[] = [];
    for (const name of new Set(names)) {
      const { bytes, imageType } = await describe(folder, name);
      const uri = `${THREAD_FILES.attachments}/${name}`;
      const isSeen = imageType !== null && bytes <= MAX_IMAGE_BYTES && imageBytes + bytes <= MAX_IMAGES_BYTES;
      if (isSeen) imageBytes += bytes;
      blocks.push(
        isSeen ? { type: "image", mimeType: imageType, uri } : { type: "resource_link", uri, name },
      );
    }
    return blocks;
  }

  #folderOf(threadId: ThreadId): string {
    const { store, folders, browserFolders } = this.#options;
    if (browserFolders.has(threadId)) return browserFolders.attachments(threadId);
    if (!store.agents.find(threadId))
      throw new AppError("not_found", `There is no agent thread ${JSON.stringify(threadId)}.`);
    if (!folders.exists(threadId)) throw new AppError("thread_ended", folderGone(threadId));
    return join(folders.of(threadId), THREAD_FILES.attachments);
  }

  #checkOpen(threadId: ThreadId): void {
    const thread = this.#options.store.threads.find(threadId);
    if (thread && !isOpen(thread.status)) throw threadEnded(threadId, whyOver(thread.status));
  }

  /** @param name of the file to come: one that has it already may be the same file, which takes no more room */
  async #makeFolder(threadId: ThreadId, name: string): Promise<string> {
    const { now } = this.#options;
    const folder = this.#folderOf(threadId);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const part of (await readdir(folder)).filter((one) => one.startsWith(PART))) {
      const stats = await lstat(join(folder, part)).catch(() => undefined);
      if (stats && now() - stats.mtimeMs > STALE_MS) await rm(join(folder, part), { force: true });
    }
    const names = await namesIn(folder);
    if (names.length >= MAX_ATTACHMENTS && !names.includes(name)) throw tooMany();
    return folder;
  }

  /** @returns how many bytes it has */
  async #write(part: string, bytes: Readable): Promise<number> {
    if (this.#options.freeDiskBytes() < 2 * MAX_ATTACHMENT_BYTES) throw diskFull();
    let size = 0;
    const bound = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        size += chunk.length;
        if (size > MAX_ATTACHMENT_BYTES) done(tooLarge());
        else done(null, chunk);
      },
    });
    await pipeline(bytes, bound, createWriteStream(part, { flags: "wx", mode: 0o600, flush: true }));
    return size;
  }
}

/**
 * Gives the file its name, or another one if a different file has it.
 * @returns the name
 * @throws AppError `too_large` if there are as many files as may be: others came while this one was written
 */
async function keepAs(folder: string, part: string, wanted: string, size: number): Promise<string> {
  const isFull = (await namesIn(folder)).length >= MAX_ATTACHMENTS;
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : numberedName(wanted, number);
    const path = join(folder, name);
    if (await isSame(path, part, size)) return name;
    const isTaken = (await lstat(path).catch(() => undefined)) !== undefined; // it may be gone by now: then it is free
    if (isTaken) continue;
    if (isFull) throw tooMany();
    try {
      await link(part, path);
      return name;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

async function isSame(path: string, part: string, size: number): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats?.isFile() || stats.size !== size) return false;
  const files = await Promise.all([path, part].map((file) => open(file, READ_ONLY)));
  try {
    for (let at = 0; at < size; at += COMPARED_BYTES) {
      const [one, other] = await Promise.all(
        files.map(async (file) => {
          const { buffer, bytesRead } = await file.read(Buffer.alloc(COMPARED_BYTES), 0, COMPARED_BYTES, at);
          return buffer.subarray(0, bytesRead);
        }),
      );
      if (!one || !other || !one.equals(other)) return false;
    }
    return true;
  } finally {
    await Promise.all(files.map((file) => file.close()));
  }
}

/** For files that were looked at just before. A link that came since is not followed. */
const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A program of the thread could have put a link there, or a FIFO: neither is opened. */
async function openFile(folder: string, name: string): Promise<{ handle: FileHandle; stats: Stats }> {
  const file = findFile(join(folder, name));
  if (!file) throw noFile(name);
  try {
    if (!file.stats.isFile()) throw noFile(name);
    return {
      handle: await open(file.name, constants.O_RDONLY | constants.O_NONBLOCK),
      stats: file.stats,
    };
  } finally {
    file.letGo();
  }
}

function findFile(path: string): NamedFile | undefined {
  try {
    return nameFile(path, false);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function describe(folder: string, name: string): Promise<Attachment> {
  const { handle, stats } = await openFile(folder, name);
  try {
    return { name, bytes: stats.size, imageType: await readImageType(handle) };
  } finally {
    await handle.close();
  }
}

async function readImageType(handle: FileHandle): Promise<string | null> {
  const beginning = Buffer.alloc(IMAGE_BEGINNING_BYTES);
  const { bytesRead } = await handle.read(beginning, 0, beginning.length, 0);
  return findImageType(beginning.subarray(0, bytesRead)) ?? null;
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return names.filter((name) => !name.startsWith(".")).sort();
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function noFile(name: string): AppError {
  return new AppError("not_found", `There is no attachment ${JSON.stringify(name)}; upload it first.`);
}

function tooMany(): AppError {
  return new AppError("too_large", `A thread may have at most ${MAX_ATTACHMENTS} attachments.`);
}

function tooLarge(): AppError {
  const limit = formatCount(MAX_ATTACHMENT_BYTES);
  return new AppError("too_large", `An attachment may have at most ${limit} bytes.`);
}
