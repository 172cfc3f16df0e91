/** Finds a directory's git repository by reading its few small files: no process is spawned. */
import { realpath, stat } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { openRegularFile } from "../regular-file.ts";

export interface Repository {
  /** The directory where its files are. */
  path: string;
  /** The folder of this worktree: HEAD and index. */
  gitDir: string;
  /** The folder of all its worktrees: objects and refs. */
  commonDir: string;
  /** The text of HEAD. */
  head: string;
  /** The branch, or the first digits of the commit. */
  branch: string;
}

/** The longest path that Linux takes: more is in no file that git wrote. */
const MAX_POINTER_BYTES = 4_096;
/** Reads .git itself, no process is spawned; a worktree's .git is a file that names the real folder. */
export async function findRepository(path: string): Promise<Repository | undefined> {
  try {
    let gitDir = join(path, ".git");
    if ((await stat(gitDir)).isFile()) {
      gitDir = resolve(path, (await readPointer(gitDir)).replace(/^gitdir: /, ""));
    }
    if (!(await isOwn(gitDir, "HEAD"))) return undefined;
    const head = await readPointer(join(gitDir, "HEAD"));
    const commit = /^[0-9a-f]{40,64}$/.exec(head)?.[0].slice(0, 8);
    const branch = /^ref: refs\/heads\/(.+)$/.exec(head)?.[1] ?? commit;
    // `.invalid` stands in HEAD where refs are kept in a format that is not files.
    if (branch === undefined || branch === ".invalid") return undefined;
    return { path, gitDir, commonDir: await findCommonDir(gitDir), head, branch };
  } catch {
    return undefined; // not a git directory
  }
}

/** The repository whose files `path` is among: its own, or that of the nearest folder above it. */
export async function findRepositoryOf(path: string): Promise<Repository | undefined> {
  for (let at = path; ; at = dirname(at)) {
    const found = await findRepository(at);
    if (found) return found;
    if (dirname(at) === at) return undefined;
  }
}

/**
 * A link in place of HEAD leads to a ref in the same folder, as git once made it. Any other may lead to a secret, which
 * can look like a commit: a token of 64 hexadecimal digits would be shown as a branch.
 */
async function isOwn(gitDir: string, name: string): Promise<boolean> {
  const [folder, file] = await Promise.all([realpath(gitDir), realpath(join(gitDir, name))]);
  return file.startsWith(folder + sep);
}

async function findCommonDir(gitDir: string): Promise<string> {
  try {
    return resolve(gitDir, await readPointer(join(gitDir, "commondir")));
  } catch {
    return gitDir; // only a linked worktree has that file
  }
}

/**
 * One of git's one-line files. Anybody may have made it: a FIFO would hold the thread that opens it for ever, and
 * four of them all work on files; a device would never end.
 * @throws UnfitFile if it is no file
 */
export async function readPointer(file: string, maxBytes = MAX_POINTER_BYTES): Promise<string> {
  const handle = await openRegularFile(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
    return buffer.toString("utf8", 0, bytesRead).trim();
  } finally {
    await handle.close();
  }
}
