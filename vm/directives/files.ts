/** The Markdown files of a folder in which others may write: within bounds, through no link that leads out. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { MAX_FILE_BYTES } from "../../shared/directives/split-file.ts";
import { listEach, readWhole, realPathOf } from "../../shared/foreign-files.ts";
import type { Steps } from "../../shared/short-steps.ts";
import { isInside } from "../threads/directory.ts";

const MAX_FILES = 500;
const MAX_FOLDERS = 200;
/** Names that are looked at, also those of other files. */
const MAX_NAMES = 5_000;
const MAX_DEPTH = 10;
const MAX_BYTES = 16 * 1024 * 1024;

export interface MarkdownFile {
  /** Absolute; links on the way to it stand as they are. */
  path: string;
  body: Buffer;
}

export interface FoundFiles {
  files: MarkdownFile[];
  /** What could not be read, and why. */
  problems: { path: string; problem: string }[];
}

/** @param root what lies outside of it is not read */
export async function findMarkdown(folder: string, root: string, steps: Steps): Promise<FoundFiles> {
  const realRoot = realPathOf(root);
  if (typeof realRoot !== "string") return { files: [], problems: [] };
  const walk = new Walk(realRoot, steps);
  await walk.into(folder, 0);
  return walk.found;
}

class Walk {
  readonly found: FoundFiles = { files: [], problems: [] };
  readonly #root: string;
  readonly #steps: Steps;
  /** Real paths: a link may lead to a folder above it. */
  readonly #seen = new Set<string>();
  #names = 0;
  #bytes = 0;

  constructor(root: string, steps: Steps) {
    this.#root = root;
    this.#steps = steps;
  }

  async into(folder: string, depth: number): Promise<void> {
    const real = realPathOf(folder);
    if (real === undefined) return;
    if (typeof real !== "string") return this.#note(folder, real.problem);
    if (!isInside(this.#root, real)) return this.#note(folder, "is a link that leads out");
    if (this.#seen.has(real)) return;
    this.#seen.add(real);
    if (depth > MAX_DEPTH || this.#seen.size > MAX_FOLDERS)
      return this.#note(folder, "is too deep, or one too many");
    const names: string[] = [];
    const problem = await listEach(folder, this.#steps, ({ name }) => {
      names.push(name);
      return ++this.#names <= MAX_NAMES;
    });
    if (problem) return this.#note(folder, problem.problem);
    if (this.#names > MAX_NAMES) this.#note(folder, "holds more than is looked at");
    for (const name of names.sort()) {
      const path = join(folder, name);
      if (isFolder(path)) await this.into(path, depth + 1);
      else if (/\.md$/i.test(name)) await this.#take(path);
      await this.#steps.rest();
    }
  }

  async #take(path: string): Promise<void> {
    const real = realPathOf(path);
    if (real === undefined) return;
    if (typeof real !== "string") return this.#note(path, real.problem);
    if (!isInside(this.#root, real)) return this.#note(path, "is a link that leads out");
    if (this.found.files.length >= MAX_FILES || this.#bytes >= MAX_BYTES)
      return this.#note(path, "is one too many");
    // One byte more than a directive may have: its parser says so.
    const read = await readWhole(real, MAX_FILE_BYTES + 1, this.#steps);
    if (read === undefined) return;
    if ("problem" in read) return this.#note(path, read.problem);
    this.#bytes += read.length;
    this.found.files.push({ path, body: read });
  }

  #note(path: string, problem: string): void {
    if (this.found.problems.length < 20) this.found.problems.push({ path, problem });
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // the try to read it says what it is
  }
}
