/** Directories below `REPOS_DIR`, to complete what a person types, with the branch of those that are git's. */
import { execFile } from "node:child_process";
import { constants, type Dirent } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import type { Repo } from "../../shared/api.ts";
import { isInside } from "./directory.ts";

const run = promisify(execFile);
const MAX_REPOS = 25;
const SKIPPED = new Set(["node_modules", ".git"]);
/** Discord waits 3 s for a completion: a slow `git status` is left out instead. */
const GIT_TIMEOUT_MS = 700;
/** The longest path that Linux takes: more is in no file that git wrote. */
const MAX_POINTER_BYTES = 4_096;

/**
 * Directories whose path starts with `prefix`, their sub-directories after them, at most 25. Hidden ones only
 * where the prefix asks for them. What leads out of `reposDir` is not listed.
 * @param reposDir must be a real path.
 * @param env for git, which may run what a repository's settings name: nothing secret is in it.
 */
export async function listRepos(
  reposDir: string,
  prefix: string,
  env: Record<string, string>,
): Promise<Repo[]> {
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
  return Promise.all(found.slice(0, MAX_REPOS).map((path) => describe(reposDir, path, env)));
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

async function describe(reposDir: string, path: string, env: Record<string, string>): Promise<Repo> {
  const dir = relative(reposDir, path) || ".";
  const branch = await findBranch(path);
  if (branch === undefined) return { dir };
  const dirty = await findDirty(path, env);
  return dirty === undefined ? { dir, branch } : { dir, branch, dirty };
}

/** Read from .git itself, no process is spawned; a worktree's .git is a file that names the real folder. */
async function findBranch(path: string): Promise<string | undefined> {
  try {
    let git = join(path, ".git");
    if ((await stat(git)).isFile()) {
      git = resolve(path, (await readPointer(git)).replace(/^gitdir: /, ""));
    }
    const head = await readPointer(join(git, "HEAD"));
    const commit = /^[0-9a-f]{40,64}$/.exec(head)?.[0].slice(0, 8);
    return /^ref: refs\/heads\/(.+)$/.exec(head)?.[1] ?? commit;
  } catch {
    return undefined; // not a git directory
  }
}

/**
 * One of git's one-line files. Anybody may have made it: a FIFO would hold the thread that opens it for ever, and
 * four of them all work on files; a device would never end.
 */
async function readPointer(file: string): Promise<string> {
  if (!(await stat(file)).isFile()) throw new Error(`${file} is not a file`);
  // It may have become a FIFO since.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await handle.stat()).isFile()) throw new Error(`${file} is not a file`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_POINTER_BYTES), 0, MAX_POINTER_BYTES, 0);
    return buffer.toString("utf8", 0, bytesRead).trim();
  } finally {
    await handle.close();
  }
}

async function findDirty(path: string, env: Record<string, string>): Promise<boolean | undefined> {
  try {
    const args = ["--no-optional-locks", "-c", "core.fsmonitor=false", "-C", path, "status", "--porcelain"];
    const { stdout } = await run("git", args, {
      env,
      timeout: GIT_TIMEOUT_MS,
      maxBuffer: 16 * 1024 * 1024,
    });
    return stdout !== "";
  } catch {
    return undefined; // no git here, or too slow: not known
  }
}
