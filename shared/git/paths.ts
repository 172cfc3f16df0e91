/**
 * Paths as git has them are bytes, not text. They are kept as strings with one character a byte (latin1), so that
 * they can be compared and be keys; the file system is given the bytes.
 */
import { lstatSync, type Stats } from "node:fs";

export type BytePath = string;

/** The path for the file system. */
export function bytesOf(root: string, path: BytePath): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, "latin1")]);
}

/** For people. */
export function textOf(path: BytePath): string {
  return Buffer.from(path, "latin1").toString("utf8");
}

/** As git has the path of a program's argument or of a tool's input. */
export function byteOf(text: string): BytePath {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** Splits a list whose entries git ended with NULs. */
export function splitList(list: Buffer): BytePath[] {
  return list.toString("latin1").split("\0").slice(0, -1);
}

export function joinList(paths: readonly BytePath[]): Buffer {
  return Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1");
}

/** What is there, links not followed; undefined if nothing is. */
export function look(root: string, path: BytePath): Stats | undefined {
  try {
    return lstatSync(bytesOf(root, path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Whether a folder on the way to a path is a link, which leads elsewhere. */
export class Folders {
  readonly #root: string;
  readonly #known = new Map<BytePath, boolean>();

  constructor(root: string) {
    this.#root = root;
  }

  hasLink(path: BytePath): boolean {
    const end = path.lastIndexOf("/");
    if (end < 0) return false;
    const folder = path.slice(0, end);
    const known = this.#known.get(folder);
    if (known !== undefined) return known;
    const hasLink = this.hasLink(folder) || (look(this.#root, folder)?.isSymbolicLink() ?? false);
    this.#known.set(folder, hasLink);
    return hasLink;
  }
}
