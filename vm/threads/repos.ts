/** Directories below `REPOS_DIR`, to complete what a person types, with the branch of those that are git's. */
import { setMaxListeners } from "node:events";
import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { findRepository } from "../../shared/git/repository.ts";
import { Slots, withTimeout } from "../../shared/lifecycle.ts";
import type { Repo } from "../../shared/machine-api.ts";
import { USER_SPACE } from "../../shared/user-space.ts";
import { isInside } from "./directory.ts";
import { findDirty } from "./git-dirty.ts";

const MAX_REPOS = 25;
const SKIPPED = new Set(["node_modules", ".git"]);
/** Discord waits 3 s for a completion: a slow `git status` is left out instead. */
const GIT_TIMEOUT_MS = 700;
/** All callers together: completion asks at every key. */
const MAX_GITS = 4;

export class Repos {
  readonly #reposDir: string;
  readonly #env: Record<string, string>;
  readonly #gits = new Slots(MAX_GITS);

  /**
   * @param reposDir must be a real path.
   * @param env for git.
   */
  constructor(reposDir: string, env: Record<string, string>) {
    this.#reposDir = reposDir;
    this.#env = env;
  }

  /**
   * Directories whose path starts with `prefix`, their sub-directories after them, at most 25. Hidden ones only if
   * the prefix asks for them. What leads out of `reposDir` is not listed.
   * @param signal fires when nobody waits any more.
   */
  async list(prefix: string, signal: AbortSignal): Promise<Repo[]> {
    if (prefix === USER_SPACE) return [{ dir: USER_SPACE }];
    const found = await findDirectories(this.#reposDir, prefix);
    return withTimeout(GIT_TIMEOUT_MS, [signal], (ends) => {
      setMaxListeners(0, ends); // one for each directory, none is left behind
      return Promise.all(found.map((path) => this.#describe(path, ends)));
    });
  }

  async #describe(path: string, signal: AbortSignal): Promise<Repo> {
    const dir = relative(this.#reposDir, path) || ".";
    const repository = await findRepository(path);
    if (!repository) return { dir };
    const { branch } = repository;
    const dirty = await this.#gits.run(() => findDirty(repository, { env: this.#env, signal }), signal);
    return dirty === undefined ? { dir, branch } : { dir, branch, dirty };
  }
}

async function findDirectories(reposDir: string, prefix: string): Promise<string[]> {
  const wanted = prefix.replace(/^(\.?\/)+/, "");
  if (wanted.includes("\0")) return [];
  const parent = wanted.endsWith("/") ? wanted : dirname(wanted);
  const start = wanted.endsWith("/") ? "" : basename(wanted);
  const found: string[] = [];
  if (wanted === "" || wanted === ".") found.push(reposDir);
  const matching = (name: string) =>
    name.toLowerCase().startsWith(start === "." ? "" : start.toLowerCase()) &&
    (start.startsWith(".") || !name.startsWith("."));
  let level = await subdirectories(reposDir, resolve(reposDir, parent), matching);
  while (level.length > 0 && found.length < MAX_REPOS) {
    found.push(...level);
    if (found.length >= MAX_REPOS) break;
    const below = await Promise.all(
      level.map((path) => subdirectories(reposDir, path, (name) => !name.startsWith("."))),
    );
    level = below.flat();
  }
  return found.slice(0, MAX_REPOS);
}

async function subdirectories(
  reposDir: string,
  path: string,
  matches: (name: string) => boolean,
): Promise<string[]> {
  if (!isInside(reposDir, path)) return [];
  let entries: Dirent[];
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch {
    return []; // not there, or not ours to read: nothing to complete
  }
  const candidates = entries
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map((entry) => entry.name)
    .filter((name) => !SKIPPED.has(name) && matches(name))
    .sort();
  const checked = await Promise.all(
    candidates.slice(0, 500).map(async (name) => {
      const full = join(path, name);
      try {
        const real = await realpath(full);
        // A link that leads up would be listed for ever.
        const isBelow = isInside(reposDir, real) && !isInside(real, path);
        return isBelow && (await stat(real)).isDirectory() ? full : undefined;
      } catch {
        return undefined; // a dangling link
      }
    }),
  );
  return checked.filter((full) => full !== undefined);
}
