/**
 * The `.claude` folders below a directory: claude loads what is in them once it reads a file beside them. So it does
 * with `CLAUDE.md` and its like, which matter if they are not the repository's: what a link leads to is anybody's.
 */
import { accessSync, constants, type Dirent, statSync } from "node:fs";
import { join, sep } from "node:path";
import { listEach, type Problem, realPathOf } from "../../../shared/foreign-files.ts";
import type { Steps } from "../../../shared/short-steps.ts";
import { EACH, isOfProcess } from "./of-process.ts";

/** A large repository with all that it depends on has some ten thousand folders. */
export const NESTED_MAX = { folders: 50_000, entries: 1_000_000, links: 100_000, problems: 20, outward: 100 };

/** A link may lead to anybody's files, such as keys, so nothing of them is shown. */
export const OUTSIDE = "what is outside of the directory: it is loaded, and not shown";

/** Words that claude reads by itself. It has been seen to follow no link in `rules`; another version may. */
const MEMORY = /\/(?:(?:claude|claude\.local|agents)\.md|\.claude\/rules\/.*\.md)$/i;

export interface Nested {
  paths: string[];
  /** What could not be looked at; empty if all was. */
  problems: (Problem & { path: string })[];
  /** Links that leave the directory for what an agent is not to read, or for words that it reads by itself. */
  outward: { path: string; leadsTo: string; real: string }[];
}

/** Real paths of folders, and of files. */
export interface Places {
  /** The directory and the trees of its repository. */
  roots: readonly string[];
  /** The person's own settings: not looked at. */
  own: readonly string[];
  /** What an agent is not to read, as people are told of it. */
  guarded: readonly { path: string; name: string }[];
}

interface Folder {
  path: string;
  real: string;
}

/**
 * Follows links to folders too, each once; below the directory first, so that the same tree is told in the same words.
 * @param dir a real path; its own `.claude` is left out
 */
export async function findNested(
  dir: string,
  places: Places,
  steps: Steps,
  max = NESTED_MAX,
): Promise<Nested> {
  const walk = new Walk(dir, places, steps, max);
  for (let trees: Folder[] = [{ path: dir, real: dir }]; trees.length > 0; trees = walk.takeLinks())
    for (const tree of trees) await walk.walk(tree);
  const { paths, problems, outward } = walk;
  return { paths: paths.sort(), problems, outward: outward.sort((a, b) => (a.path < b.path ? -1 : 1)) };
}

class Walk {
  readonly paths: string[] = [];
  readonly problems: Nested["problems"] = [];
  readonly outward: Nested["outward"] = [];
  readonly #dir: string;
  readonly #steps: Steps;
  readonly #max: typeof NESTED_MAX;
  readonly #roots: readonly string[];
  readonly #guarded: Places["guarded"];
  /** Real paths of folders. */
  readonly #seen: Set<string>;
  #links: Folder[] = [];
  #linkCount = 0;
  #entryCount = 0;
  #isOver = false;

  constructor(dir: string, { roots, own, guarded }: Places, steps: Steps, max: typeof NESTED_MAX) {
    this.#dir = dir;
    this.#roots = roots;
    this.#guarded = guarded;
    this.#seen = new Set([...own, ...guarded.map(({ path }) => path).filter((path) => !isInside(path, dir))]);
    this.#steps = steps;
    this.#max = max;
  }

  /** Links to folders that were met since the last call. */
  takeLinks(): Folder[] {
    const links = this.#links.sort((a, b) => (a.path < b.path ? -1 : 1));
    this.#links = [];
    return links;
  }

  async walk(tree: Folder): Promise<void> {
    const waiting = [tree];
    let isTold = this.#roots.some((root) => isInside(root, tree.real));
    for (let folder = waiting.pop(); folder !== undefined && !this.#isOver; folder = waiting.pop()) {
      const { path, real } = folder;
      if (this.#seen.has(real)) continue;
      this.#seen.add(real);
      if (this.#seen.size > this.#max.folders) return this.#stop();
      const problem = await listEach(path, this.#steps, (entry) => {
        this.#look({ path, real }, entry, waiting);
        if (!isTold && entry.isFile() && MEMORY.test(join(path, entry.name))) {
          isTold = true;
          this.#tell({ ...tree, leadsTo: OUTSIDE });
        }
        return !this.#isOver;
      });
      if (problem && !isClosed(path)) this.#note(path, problem);
      await this.#steps.rest();
    }
  }

  #look(folder: Folder, entry: Dirent, waiting: Folder[]): void {
    this.#entryCount += 1;
    const path = join(folder.path, entry.name);
    if (this.#entryCount > this.#max.entries) this.#stop();
    else if (entry.isDirectory()) {
      const real = join(folder.real, entry.name);
      if (this.#seen.has(real)) return;
      if (entry.name === ".claude" && folder.real !== this.#dir) this.paths.push(path);
      waiting.push({ path, real });
    } else if (entry.isSymbolicLink()) this.#follow(folder, entry.name);
  }

  #follow(folder: Folder, name: string): void {
    const path = join(folder.path, name);
    const isClaude = name === ".claude" && folder.real !== this.#dir;
    this.#linkCount += 1;
    const real = realPathOf(path);
    if (this.#linkCount > this.#max.links) this.#stop();
    else if (isOfProcess(folder.real, name)) this.#tell({ path, real: path, leadsTo: EACH });
    else if (typeof real === "object") this.#note(path, real);
    else if (real === undefined) return;
    else if (this.#isOutward(path, real)) return;
    else if (isFolder(real)) {
      // Another link may lead to the same folder: it is looked into once, but its name counts.
      if (isClaude) this.paths.push(path);
      if (!this.#seen.has(real)) this.#links.push({ path, real });
    } else if (MEMORY.test(path) && !this.#roots.some((root) => isInside(root, real)))
      this.#tell({ path, real, leadsTo: OUTSIDE });
  }

  /** @returns whether it leads where nobody looks */
  #isOutward(path: string, real: string): boolean {
    const isOwn = isInside(this.#dir, real);
    const into = this.#guarded.find((place) => isInside(place.path, real));
    const above = this.#guarded.find((place) => isInside(real, place.path));
    if (isOwn && (into === undefined || isInside(into.path, this.#dir))) return false;
    if (into) this.#tell({ path, real, leadsTo: into.name });
    else if (above) this.#tell({ path, real, leadsTo: `a folder that holds ${above.name}` });
    return into !== undefined;
  }

  #tell(link: Nested["outward"][number]): void {
    if (this.outward.length > this.#max.outward) this.#stop();
    else this.outward.push(link);
  }

  #note(path: string, { problem }: Problem): void {
    if (this.problems.length < this.#max.problems) this.problems.push({ path, problem });
    else this.#stop();
  }

  #stop(): void {
    if (!this.#isOver)
      this.problems.push({ path: this.#dir, problem: "more is below it than can be looked at" });
    this.#isOver = true;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // gone meanwhile
  }
}

/** To us, and so to the engine. A folder that can be entered and not listed is not. */
function isClosed(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

/** Both are real paths, so their texts tell: this is asked of each link for each place. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder === sep ? sep : `${folder}${sep}`);
}
