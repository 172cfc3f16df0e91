/**
 * Whose a memory is, and where its files lie. A memory belongs to a directory, to the user of the machine, or to a main
 * agent; nothing crosses from one to another by itself. Pure.
 */
import { createHash } from "node:crypto";
import { basename, join, relative } from "node:path";
import type { ThreadConfig } from "../agent/config.ts";
import { AppError } from "../errors.ts";

/** Below STATE_DIR. */
export const MEMORY_FOLDER = "memory";
/** The file whose beginning an agent is told. The others are notes. */
export const MEMORY_FILE = "MEMORY.md";
/** In a directory's folder: the directory's path, for people. */
export const DIRECTORY_FILE = ".directory";

export const MAX_MEMORY_BYTES = 1024 * 1024;
export const MAX_MEMORY_FILE_BYTES = 64 * 1024;
export const MAX_MEMORY_FILES = 1_000;
/** The most of a MEMORY.md that an agent is told unasked. */
export const MEMORY_HEAD_BYTES = 2 * 1024;

/** The words by which an agent names its memories. */
export const OWNER_WORDS = ["main", "dir", "user"] as const;
export type OwnerWord = (typeof OWNER_WORDS)[number];

export interface MemoryOwner {
  word: OwnerWord;
  /** Below {@link MEMORY_FOLDER}: `user`, `dirs/<id>`, or `main/<name>`. */
  folder: string;
  /** The absolute path, if the owner is a directory. */
  directory?: string;
}

export const USER_OWNER: MemoryOwner = { word: "user", folder: "user" };

export function directoryOwner(path: string): MemoryOwner {
  const words =
    basename(path)
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  const slug = words.join("-").slice(0, 32);
  const id = createHash("sha256").update(path).digest("hex").slice(0, 12);
  return { word: "dir", folder: `dirs/${slug === "" ? "" : `${slug}-`}${id}`, directory: path };
}

/** The memories of an agent thread, its own first. A worktree's is its repository's. */
export function ownersOf({
  dir,
  worktree,
  launch,
  agent,
}: Pick<ThreadConfig, "dir" | "worktree" | "launch"> & {
  agent: Pick<ThreadConfig["agent"], "mainAgent">;
}): MemoryOwner[] {
  const { mainAgent } = agent;
  const own: MemoryOwner[] = mainAgent === undefined ? [] : [{ word: "main", folder: `main/${mainAgent}` }];
  const place = worktree ? join(worktree.root, relative(worktree.path, dir)) : dir;
  const { stateDir } = launch;
  const isOwnHome = stateDir !== undefined && place.startsWith(`${stateDir}/`);
  return isOwnHome ? [...own, USER_OWNER] : [...own, directoryOwner(place), USER_OWNER];
}

const FOLDER = /^(?:user|main\/[a-z0-9-]{1,64}|dirs\/[a-z0-9-]{1,64})$/;

/** Whether a text names an owner's folder. */
export function isOwnerFolder(folder: string): boolean {
  return FOLDER.test(folder);
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,59}\.md$/;

export function isMemoryName(name: string): boolean {
  return NAME.test(name) && (name === MEMORY_FILE || name.toUpperCase() !== MEMORY_FILE.toUpperCase());
}

/** @throws AppError `invalid_request` naming the field, if it can't be the name of a memory's file */
export function checkMemoryName(name: string, field: string): void {
  const refuse = (why: string) => new AppError("invalid_request", `${field}: ${why}.`);
  if (!NAME.test(name))
    throw refuse(
      `${JSON.stringify(name.slice(0, 100))} is no name of a memory's file: it must end with .md, begin with a letter or digit, and hold at most 64 of A-Z, a-z, 0-9, dot, _ and -`,
    );
  if (name !== MEMORY_FILE && name.toUpperCase() === MEMORY_FILE.toUpperCase())
    throw refuse(`${name} is too like ${MEMORY_FILE}; write that, or choose another name`);
}

/**
 * A file as an agent names it: `notes.md`, or `user/notes.md`.
 * @param owners the agent's memories; without a word the first one is meant
 * @throws AppError `invalid_request` naming the field `path`
 */
export function parseMemoryPath(
  path: string,
  owners: readonly MemoryOwner[],
): { owner: MemoryOwner; name: string } {
  const parts = path.split("/");
  const name = parts.at(-1) ?? "";
  const word = parts.length === 2 ? parts[0] : undefined;
  const owner = parts.length === 1 ? owners[0] : owners.find((one) => one.word === word);
  if (!owner || parts.length > 2) {
    const open = owners.map((one) => `${one.word}/<name>.md`).join(" or ");
    throw new AppError(
      "invalid_request",
      `path: ${JSON.stringify(path.slice(0, 100))} names no memory of yours; write ${open}.`,
    );
  }
  checkMemoryName(name, "path");
  return { owner, name };
}

/**
 * A file as people name it: its owner's folder and its name, such as `dirs/shop-0123456789ab/notes.md`.
 * @throws AppError `invalid_request` naming the field `path`
 */
export function parseFullPath(path: string): { folder: string; name: string } {
  const at = path.lastIndexOf("/");
  const [folder, name] = [path.slice(0, Math.max(at, 0)), path.slice(at + 1)];
  if (!isOwnerFolder(folder))
    throw new AppError(
      "invalid_request",
      `path: ${JSON.stringify(path.slice(0, 100))} names no memory; write user/<name>.md, dirs/<id>/<name>.md, or main/<agent>/<name>.md.`,
    );
  checkMemoryName(name, "path");
  return { folder, name };
}
