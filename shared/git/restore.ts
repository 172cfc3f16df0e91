/**
 * Puts files back to an earlier state, each as a whole or not at all. It may be done twice, and go on after it was
 * killed: a file that an earlier try has put back is left as it is, and counts as put back.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { readRegular } from "../regular-file.ts";
import { findOperation } from "./operation.ts";
import { type BytePath, bytesOf, Folders, look, splitList, textOf } from "./paths.ts";
import { GitError, runGit } from "./run-git.ts";
import { type Change, type LeftOut, MAX_FILE_BYTES, type Version, type WorkTree } from "./work-tree.ts";

/** One undoing, over all its tries. */
export interface Undoing {
  id: string;
  /** What an earlier try meant to put back; empty if there was none. */
  findMeant(): readonly BytePath[];
  /**
   * What is put back from here on, on the disk before the first file is touched. A file that somebody else had made
   * what it was is not among them: undoing the undo must leave it alone.
   */
  noteMeant(paths: readonly BytePath[]): void;
}

export interface Restored {
  /** What was put back, now or in an earlier try: as it was before, where `before` is what it is now. */
  changes: Change[];
  left: LeftOut[];
}

const LINK = "120000";
const EXECUTABLE = "100755";
const FILE = "100644";

/**
 * Undoes changes: each file that still is what it was `after` becomes what it was `before`.
 * @throws GitError if git is in the middle of something, or does not have what the files were
 */
export async function restore(
  tree: WorkTree,
  changes: readonly Change[],
  undoing: Undoing,
): Promise<Restored> {
  const operation = await findOperation(tree.repository);
  if (operation) throw new GitError("failed", operation);
  const sparse = await findSparse(tree);
  const root = tree.repository.path;
  const folders = new Folders(root);
  const back: Change[] = [];
  const left: LeftOut[] = [];
  const due: Change[] = [];
  const meant = new Set(undoing.findMeant());
  for (const change of changes) {
    const reason = sparse.has(change.path)
      ? "outside of the sparse checkout"
      : findReason(root, folders, change);
    if (reason === undefined) due.push(change);
    else if (reason !== "back") left.push({ path: textOf(change.path), reason });
    else if (meant.has(change.path)) back.push(change);
  }
  // Everything is there before the first file is touched.
  await checkObjects(tree, due);
  undoing.noteMeant([...due, ...back].map(({ path }) => path));
  for (const change of due.filter(({ before }) => before === null)) {
    if (isStill(root, change, change.after)) {
      unlinkSync(bytesOf(root, change.path));
      removeEmptyFolders(root, change.path);
      back.push(change);
    } else left.push({ path: textOf(change.path), reason: CHANGED });
  }
  for (const change of due) {
    if (change.before === null) continue;
    const content = await runGit(tree.place, ["cat-file", "blob", change.before.object]);
    const isDone =
      isStill(root, change, change.after) && putBack(root, change.path, change.before, content, undoing.id);
    if (isDone) back.push(change);
    else left.push({ path: textOf(change.path), reason: CHANGED });
  }
  const reversed = back.map(({ path, before, after }) => ({ path, before: after, after: before }));
  return { changes: reversed.sort(byPath), left: left.sort(byPath) };
}

const CHANGED = "changed since";

function byPath(a: { path: string }, b: { path: string }): number {
  return a.path < b.path ? -1 : 1;
}

/** Why a file stays as it is: `back` if it is what it was; undefined if it is to be put back. */
function findReason(root: string, folders: Folders, change: Change): string | undefined {
  const { path, before, after } = change;
  if ([before, after].some((version) => version && ![LINK, EXECUTABLE, FILE].includes(version.mode)))
    return "a repository of its own";
  if (folders.hasLink(path)) return "its folder is a link now";
  if (isStill(root, change, before)) return "back";
  return isStill(root, change, after) ? undefined : CHANGED;
}

function isStill(root: string, { path }: Change, version: Version | null): boolean {
  const found = look(root, path);
  // A folder that has come in a file's place goes with what was made in it.
  if (!found || !version) return !version && (found?.isDirectory() ?? true);
  const object = version.object;
  const bytes = bytesOf(root, path);
  if (found.isSymbolicLink())
    return version.mode === LINK && nameOf(readlinkSync(bytes, "buffer"), object) === object;
  if (!found.isFile() || found.size > MAX_FILE_BYTES) return false;
  const mode = (found.mode & 0o100) === 0 ? FILE : EXECUTABLE;
  return mode === version.mode && nameOf(readRegular(bytes, MAX_FILE_BYTES, false), object) === object;
}

/** Git's name of a file's content, as long as `like` is. */
function nameOf(content: Buffer, like: string): string {
  return createHash(like.length === 64 ? "sha256" : "sha1")
    .update(`blob ${content.length}\0`)
    .update(content)
    .digest("hex");
}

/** @returns false if something stands in the way, such as a folder of its name */
function putBack(root: string, path: BytePath, { mode }: Version, content: Buffer, id: string): boolean {
  const target = bytesOf(root, path);
  const found = look(root, path);
  const end = path.lastIndexOf("/");
  try {
    if (end >= 0) mkdirSync(bytesOf(root, path.slice(0, end)), { recursive: true });
    const part = bytesOf(root, `${path.slice(0, end + 1)}.threadmux-${id}`);
    rmSync(part, { force: true }); // of a try that was killed
    if (mode === LINK) symlinkSync(content, part);
    else {
      const bits = mode === EXECUTABLE ? 0o777 : 0o666;
      const fd = openSync(part, "wx", bits);
      try {
        for (let done = 0; done < content.length; ) done += writeSync(fd, content, done);
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      if (found?.isFile()) {
        const keep = found.mode & 0o666;
        chmodSync(part, mode === EXECUTABLE ? keep | ((keep & 0o444) >> 2) : keep);
      }
      if (found && process.getuid?.() === 0) chownSync(part, found.uid, found.gid);
    }
    renameSync(part, target);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["EISDIR", "ENOTDIR", "ENOTEMPTY", "EEXIST"].includes(code)) return false;
    throw error;
  }
}

/** Folders that were made for the file; one that holds something else stays. */
function removeEmptyFolders(root: string, path: BytePath): void {
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    try {
      rmdirSync(bytesOf(root, path.slice(0, end)));
    } catch {
      return; // it is not empty
    }
  }
}

async function checkObjects(tree: WorkTree, changes: readonly Change[]): Promise<void> {
  const objects = changes.flatMap(({ before }) => (before ? [before.object] : []));
  if (objects.length === 0) return;
  const input = `${objects.join("\n")}\n`;
  const found = (await runGit(tree.place, ["cat-file", "--batch-check"], { input })).toString();
  if (/ missing$/m.test(found))
    throw new GitError("failed", "git does not have what the files were any more");
}

/** Files that the person's own index keeps out of the work tree. */
async function findSparse({ repository, place }: WorkTree): Promise<Set<BytePath>> {
  const indexFile = join(repository.gitDir, "index");
  try {
    const listed = splitList(await runGit(place, ["ls-files", "-z", "-t", "--cached"], { indexFile }));
    return new Set(listed.filter((line) => line.startsWith("S ")).map((line) => line.slice(2)));
  } catch (error) {
    if (error instanceof GitError && error.reason === "failed") return new Set(); // it is no index: nothing is kept out
    throw error;
  }
}
