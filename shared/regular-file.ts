/** Regular files at paths where others write: opened without waiting for anything, and read up to a bound. */
import { closeSync, constants, fstatSync, openSync, type PathLike, readSync, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { nameFile } from "./named-file.ts";

const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Says that no regular file stands at a path, or a larger one than is read. Its message is "it is …". */
export class UnfitFile extends Error {
  readonly stats: Stats;

  constructor(message: string, stats: Stats) {
    super(message);
    this.stats = stats;
  }
}

/**
 * Opens a regular file for reading. A FIFO's writer is not let go, and nothing is done to a device, also if the file is
 * swapped for one meanwhile.
 * @param isFollowed whether a link at the path's end is followed
 * @returns a descriptor that the caller closes
 * @throws UnfitFile if something else stands there; NodeJS.ErrnoException `ENOENT` and the like
 */
export function openRegular(path: PathLike, isFollowed = true): number {
  const { name, letGo } = nameRegular(path, isFollowed);
  try {
    return openSync(name, FLAGS);
  } finally {
    letGo();
  }
}

/** As {@link openRegular}, for readers that wait for the disk elsewhere. */
export async function openRegularFile(path: PathLike, isFollowed = true): Promise<FileHandle> {
  const { name, letGo } = nameRegular(path, isFollowed);
  try {
    return await open(name, FLAGS);
  } finally {
    letGo();
  }
}

/**
 * Reads a regular file whole.
 * @throws UnfitFile if something else stands there, or more than `maxBytes`; NodeJS.ErrnoException as {@link openRegular}
 */
export function readRegular(path: PathLike, maxBytes: number, isFollowed = true): Buffer {
  const fd = openRegular(path, isFollowed);
  try {
    const stats = fstatSync(fd);
    if (stats.size > maxBytes) throw new UnfitFile(`it is longer than ${maxBytes} bytes`, stats);
    const bytes = Buffer.alloc(stats.size);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(fd, bytes, length, bytes.length - length, length);
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

function nameRegular(path: PathLike, isFollowed: boolean) {
  const file = nameFile(path, isFollowed);
  if (file.stats.isFile()) return file;
  file.letGo();
  throw new UnfitFile(file.stats.isSymbolicLink() ? "it is a link" : "it is no file", file.stats);
}
