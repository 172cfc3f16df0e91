/** Files and folders of foreign directories: never waited for, never longer than we have room for. */
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  opendirSync,
  openSync,
  readSync,
  realpathSync,
} from "node:fs";
import { nameFile } from "./named-file.ts";
import type { Steps } from "./short-steps.ts";

const CHUNK_BYTES = 1024 * 1024;

/** Why something can't be looked at, for people. */
export interface Problem {
  problem: string;
}

/** @returns undefined if no file is there; never waits for a FIFO or a device */
export async function readWhole(
  path: string,
  max: number,
  steps: Steps,
): Promise<Buffer | Problem | undefined> {
  let fd: number;
  try {
    const { name, stats, letGo } = nameFile(path, true);
    try {
      if (stats.isDirectory()) return undefined;
      if (!stats.isFile()) return { problem: "it is no file" };
      fd = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
    } finally {
      letGo();
    }
  } catch (error) {
    return isNothing(error, path) ? undefined : problemOf(error);
  }
  try {
    const stat = fstatSync(fd);
    if (stat.size > max) return { problem: "it is too long to be looked at" };
    const body = Buffer.alloc(stat.size);
    let length = 0;
    for (let read = -1; read !== 0 && length < body.length; length += read) {
      read = readSync(fd, body, length, Math.min(body.length - length, CHUNK_BYTES), length);
      await steps.rest();
    }
    return body.subarray(0, length);
  } catch (error) {
    return problemOf(error);
  } finally {
    closeSync(fd);
  }
}

/**
 * Calls `each` with what is in a folder, until that says false.
 * @returns undefined also if no folder is there
 */
export async function listEach(
  path: string,
  steps: Steps,
  each: (entry: Dirent) => boolean,
): Promise<Problem | undefined> {
  try {
    const folder = opendirSync(path);
    try {
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
        if (!each(entry)) return undefined;
        await steps.rest();
      }
    } finally {
      folder.closeSync();
    }
    return undefined;
  } catch (error) {
    return isNothing(error, path) ? undefined : problemOf(error);
  }
}

/** @returns undefined if it leads nowhere, for the engine too */
export function realPathOf(path: string): string | Problem | undefined {
  try {
    return realpathSync.native(path);
  } catch (error) {
    return isNothing(error, path) || codeOf(error) === "ELOOP" ? undefined : problemOf(error);
  }
}

/** A name that is no text comes to us as another one, under which nothing is. */
function isNothing(error: unknown, path: string): boolean {
  const code = codeOf(error);
  return (code === "ENOENT" || code === "ENOTDIR") && !path.includes("\ufffd");
}

function problemOf(error: unknown): Problem {
  return { problem: `it can't be looked at (${codeOf(error)})` };
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
