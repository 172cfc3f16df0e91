/** Puts a checkout's files back to a commit from a change to another that was cut off. */
import { createHash } from "node:crypto";
import { copyFile, readlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { openRegularFile } from "../regular-file.ts";
import { type BytePath, bytesOf, Folders, look, splitList, textOf } from "./paths.ts";
import { type GitPlace, runGit } from "./run-git.ts";

const CHECKOUT_MS = 10 * 60_000;
const NOTHING = /^0+$/;
const GITLINK = "160000";

interface Version {
  mode: string;
  /** Zeros if the file is not there. */
  oid: string;
}

interface Change {
  path: BytePath;
  from: Version;
  to: Version;
}

/**
 * The index is that of `from`; each file is as in `from`, as in `to`, or a beginning of that.
 * @returns files that are none of these: somebody has changed them since, and they stay
 */
export async function putBack(
  place: GitPlace,
  gitDir: string,
  { from, to }: { from: string; to: string },
): Promise<string[]> {
  const index = { indexFile: join(place.dir, "index.back") };
  await copyFile(join(gitDir, "index"), index.indexFile);
  const folders = new Folders(place.worktree);
  const lines: string[] = [];
  const left: string[] = [];
  for (const change of await listChanges(place, from, to)) {
    const { path } = change;
    const found = await findVersion(place, change);
    if (found === "from") continue;
    if (found === "to") lines.push(entryOf(change.to, path));
    // Not through a link in place of a folder.
    else if (found === "begun" && !folders.hasLink(path)) {
      if (look(place.worktree, path)?.isFile()) await unlink(bytesOf(place.worktree, path));
      lines.push(entryOf({ mode: "0", oid: "0".repeat(change.from.oid.length) }, path));
    } else left.push(textOf(path));
  }
  if (lines.length === 0) return left;
  await runGit(place, ["update-index", "-z", "--index-info"], {
    ...index,
    input: Buffer.from(lines.join(""), "latin1"),
  });
  // It ends with 1 if files differ: somebody has changed them.
  await runGit(place, ["update-index", "-q", "--refresh"], { ...index, alsoCode: 1, timeoutMs: CHECKOUT_MS });
  const now = (await runGit(place, ["write-tree"], index)).toString().trim();
  await runGit(place, ["read-tree", "-m", "-u", now, from], { ...index, timeoutMs: CHECKOUT_MS });
  return left;
}

/** A line for `update-index --index-info`. */
function entryOf({ mode, oid }: Version, path: BytePath): string {
  return `${NOTHING.test(oid) ? "0" : mode} ${oid}\t${path}\0`;
}

async function listChanges(place: GitPlace, from: string, to: string): Promise<Change[]> {
  const listed = splitList(await runGit(place, ["diff-tree", "-r", "-z", "--raw", "--no-renames", from, to]));
  const changes: Change[] = [];
  for (let at = 0; at + 1 < listed.length; at += 2) {
    const [fromMode = "", toMode = "", fromOid = "", toOid = ""] = (listed[at] ?? "").slice(1).split(" ");
    const [was, is] = [
      { mode: fromMode, oid: fromOid },
      { mode: toMode, oid: toOid },
    ];
    changes.push({ path: listed[at + 1] ?? "", from: was, to: is });
  }
  // Git leaves the files of a submodule alone.
  return changes.filter((change) => change.from.mode !== GITLINK && change.to.mode !== GITLINK);
}

/** What of a change is on the disk. */
async function findVersion(
  place: GitPlace,
  { path, from, to }: Change,
): Promise<"from" | "to" | "begun" | "other"> {
  const file = bytesOf(place.worktree, path);
  const found = look(place.worktree, path);
  if (!found || found.isDirectory()) {
    if (NOTHING.test(from.oid)) return "from";
    return NOTHING.test(to.oid) ? "to" : "begun";
  }
  if (!found.isFile() && !found.isSymbolicLink()) return "other";
  const mode = found.isSymbolicLink() ? "120000" : (found.mode & 0o100) === 0 ? "100644" : "100755";
  const oid = await idOf(file, found.isSymbolicLink() ? undefined : found.size, from.oid.length);
  if (from.mode === mode && from.oid === oid) return "from";
  if (to.mode === mode && to.oid === oid) return "to";
  return found.isFile() && !NOTHING.test(to.oid) && (await isBeginningOf(place, file, found.size, to.oid))
    ? "begun"
    : "other";
}

/** @param size undefined for a symbolic link */
async function idOf(file: Buffer, size: number | undefined, digits: number): Promise<string> {
  const hash = createHash(digits === 64 ? "sha256" : "sha1");
  if (size === undefined) {
    const target = await readlink(file, "buffer");
    return hash.update(`blob ${target.length}\0`).update(target).digest("hex");
  }
  hash.update(`blob ${size}\0`);
  const handle = await openRegularFile(file, false);
  const end = Math.max(0, size - 1);
  for await (const chunk of handle.createReadStream({ start: 0, end })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

async function isBeginningOf(place: GitPlace, file: Buffer, size: number, oid: string): Promise<boolean> {
  const whole = Number((await runGit(place, ["cat-file", "-s", oid])).toString());
  if (size >= whole) return false;
  if (size === 0) return true;
  const begin = await runGit(place, ["cat-file", "blob", oid], { maxBytes: size, isCut: true });
  const expected = createHash("sha1").update(`blob ${size}\0`).update(begin).digest("hex");
  return (await idOf(file, size, 40)) === expected;
}
