/**
 * States of a work tree's files, kept as trees in its repository: branch, index, stash and hooks have no part in it.
 * What git would not add (ignored and untracked), nested repositories and very large files are in no state.
 */
import { access, realpath, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isWithin } from "../sandbox/mounts.ts";
import { findOtherNames } from "../sandbox/other-names.ts";
import { checkIndex, makeOwnDir } from "./own-dir.ts";
import { type BytePath, Folders, joinList, look, splitList, textOf } from "./paths.ts";
import { findRepositoryOf, type Repository } from "./repository.ts";
import { GitError, type GitPlace, runGit } from "./run-git.ts";

/** A larger file is in no state. */
export const MAX_FILE_BYTES = 32 * 1024 * 1024;
/** The most files that are new or changed since the last state. */
const MAX_NEW_FILES = 50_000;
const MAX_NEW_BYTES = 512 * 1024 * 1024;

export interface State {
  /** Git's name of it. */
  tree: string;
  /** The text of HEAD. */
  head: string;
  /** What is in no state, and why; the first of them. */
  left: LeftOut[];
}

export interface LeftOut {
  path: string;
  reason: string;
}

export interface Change {
  path: BytePath;
  /** null: the file was not there. */
  before: Version | null;
  after: Version | null;
}

export interface Version {
  mode: string;
  object: string;
}

const MAX_LEFT_OUT = 20;
/** From this many new files on they are written into one pack: a file of git's for each takes most of the time. */
const MANY_FILES = 200;
/** What is larger than this goes into the pack of the call. */
const ONE_PACK = ["core.bigFileThreshold=1", "pack.compression=1"];

export class WorkTree {
  readonly repository: Repository;
  readonly place: GitPlace;
  /** Files that are in the repository though they are ignored: they may go, and come again. */
  #forced: BytePath[] | undefined;
  /** The version of git. */
  #version: string | undefined;

  private constructor(repository: Repository, place: GitPlace) {
    this.repository = repository;
    this.place = place;
  }

  /**
   * The work tree that a directory is in.
   * @param own the git directory of our own, kept over calls: in STATE_DIR, or in a temporary folder
   * @param marker by what others know git's processes
   * @throws GitError if it is in none, or in one that can't hold states
   */
  static async open(
    directory: string,
    own: string,
    env: GitPlace["env"],
    marker: GitPlace["marker"] = {},
  ): Promise<WorkTree> {
    const repository = await findRepositoryOf(directory);
    if (!repository) throw new GitError("missing", "the directory is in no git work tree");
    // A repository may have been made above STATE_DIR since the start, which refuses one.
    const [root, home] = await Promise.all([realpath(repository.path), realpath(dirname(own))]);
    if ([home, ...findOtherNames(home).map(({ path }) => path)].some((name) => isWithin(root, name)))
      throw new GitError("missing", `the git work tree ${root} holds the folder of threadmux itself`);
    try {
      await makeOwnDir(repository, own);
    } catch (error) {
      throw new GitError("failed", (error as Error).message);
    }
    const tree = new WorkTree(repository, { dir: own, worktree: repository.path, env, marker });
    if (repository.path !== directory && (await tree.#isIgnored(directory)))
      throw new GitError("missing", "the git work tree that the directory is in ignores it");
    return tree;
  }

  /** The files as they are now. */
  async keep(): Promise<State> {
    this.#forced ??= await this.#findForced();
    const { path: root } = this.repository;
    const forced = this.#forced.filter((path) => look(root, path)); // of one that is gone the index tells
    for (let tries = 1; ; tries++) {
      try {
        return await this.#keep(forced);
      } catch (error) {
        // Somebody is writing: a file of the list has gone since. Or a git that died with its machine left no index.
        const isOver = tries === 3 || !(error instanceof GitError) || error.reason !== "failed";
        if (isOver) throw error;
        const names = tries === 1 ? ["index.lock"] : ["index.lock", "index"];
        await Promise.all(names.map((name) => rm(join(this.place.dir, name), { force: true })));
      }
    }
  }

  async #keep(forced: readonly BytePath[]): Promise<State> {
    const args = ["ls-files", "-z", "--others", "--modified", "--exclude-standard"];
    const listed = new Set([...splitList(await runGit(this.place, args)), ...forced]);
    const { add, remove, left } = this.#sort(listed);
    const { known, unknown } = await this.#split(add);
    await this.#add(known, []);
    await this.#add(unknown, ONE_PACK);
    if (remove.length > 0) {
      const input = joinList(remove);
      await runGit(this.place, ["update-index", "-z", "--force-remove", "--stdin"], { input });
    }
    const tree = (await runGit(this.place, ["write-tree"])).toString().trim();
    const { head } = (await findRepositoryOf(this.repository.path)) ?? this.repository;
    return { tree, head, left: left.slice(0, MAX_LEFT_OUT) };
  }

  async #add(paths: readonly BytePath[], settings: readonly string[]): Promise<void> {
    if (paths.length === 0) return;
    const args = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
    await runGit(this.place, args, { input: joinList(paths), settings });
  }

  /** If there are many: whose content the repository does not have, as far as its index tells, and the others. */
  async #split(paths: readonly BytePath[]): Promise<{ known: BytePath[]; unknown: BytePath[] }> {
    if (paths.length < MANY_FILES || !(await this.#hasOnePack())) return { known: [...paths], unknown: [] };
    const tracked = new Set(await this.#listIndex([]));
    const unknown = paths.filter((path) => !tracked.has(path));
    if (unknown.length < MANY_FILES) return { known: [...paths], unknown: [] };
    return { known: paths.filter((path) => tracked.has(path)), unknown };
  }

  /** Older ones would make a pack of each file. */
  async #hasOnePack(): Promise<boolean> {
    this.#version ??= (await runGit(this.place, ["--version"])).toString();
    const [, major = "0", minor = "0"] = /(?<!\d)(\d+)\.(\d+)/.exec(this.#version) ?? [];
    return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 38);
  }

  /** What goes into the state, and what is to be in none. */
  #sort(listed: Iterable<BytePath>): { add: BytePath[]; remove: BytePath[]; left: LeftOut[] } {
    const folders = new Folders(this.repository.path);
    const add: BytePath[] = [];
    const remove: BytePath[] = [];
    const left: LeftOut[] = [];
    let bytes = 0;
    for (const path of listed) {
      if (path.endsWith("/")) {
        left.push({ path: textOf(path), reason: "a repository of its own" });
        continue;
      }
      const found = folders.hasLink(path) ? undefined : look(this.repository.path, path);
      const isLarge = found?.isFile() && found.size > MAX_FILE_BYTES;
      if (isLarge) left.push({ path: textOf(path), reason: "larger than 32 MiB" });
      if (!found || isLarge || !(found.isFile() || found.isSymbolicLink())) remove.push(path);
      else {
        add.push(path);
        bytes += found.size;
      }
    }
    if (add.length > MAX_NEW_FILES || bytes > MAX_NEW_BYTES) {
      const limit = `${MAX_NEW_FILES} files or ${MAX_NEW_BYTES / 1024 / 1024} MiB`;
      throw new GitError("large", `more than ${limit} are new or changed at once`);
    }
    return { add, remove, left };
  }

  /** What differs between two states. */
  async changes(before: string, after: string): Promise<Change[]> {
    if (before === after) return [];
    const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after];
    const fields = splitList(await runGit(this.place, args));
    const changes: Change[] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const [oldMode = "", newMode = "", old = "", now = ""] = (fields[i] ?? "").slice(1).split(" ");
      changes.push({
        path: fields[i + 1] ?? "",
        before: versionOf(oldMode, old),
        after: versionOf(newMode, now),
      });
    }
    return changes;
  }

  /** Lines that were added and removed between two states; a binary file counts for none. */
  async count(before: string, after: string): Promise<{ added: number; removed: number }> {
    if (before === after) return { added: 0, removed: 0 };
    const args = ["diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv"];
    const lines = splitList(await runGit(this.place, [...args, before, after]));
    const sum = (field: number) =>
      lines.reduce((total, line) => total + (Number(line.split("\t")[field]) || 0), 0);
    return { added: sum(0), removed: sum(1) };
  }

  /** What differs between two states, as a patch of at most so many bytes. */
  async patch(before: string, after: string, maxBytes: number): Promise<Buffer> {
    const args = ["diff-tree", "-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv"];
    const call = { maxBytes, isCut: true };
    return runGit(this.place, [...args, before, after], call);
  }

  /** The state `tree` with these files as they are `after`. */
  async apply(tree: string, changes: readonly Change[]): Promise<string> {
    const indexFile = join(this.place.dir, "index.apply");
    await rm(`${indexFile}.lock`, { force: true });
    await runGit(this.place, ["read-tree", tree], { indexFile });
    const lines = changes.map(({ path, after }) =>
      after === null ? `0 ${"0".repeat(tree.length)}\t${path}\0` : `${after.mode} ${after.object}\t${path}\0`,
    );
    // What goes first makes room: a folder may have become a file.
    const input = Buffer.from(lines.sort().join(""), "latin1");
    const args = ["update-index", "-z", "--add", "--replace", "--index-info"];
    await runGit(this.place, args, { input, indexFile });
    return (await runGit(this.place, ["write-tree"], { indexFile })).toString().trim();
  }

  #findForced(): Promise<BytePath[]> {
    return this.#listIndex(["--ignored", "--exclude-standard"]);
  }

  /** Lists files of the repository's own index. */
  async #listIndex(which: readonly string[]): Promise<BytePath[]> {
    const { gitDir } = this.repository;
    const indexFile = join(gitDir, "index");
    try {
      await access(indexFile);
      await checkIndex(gitDir);
    } catch {
      return []; // nothing was ever added, or the index is none
    }
    try {
      return splitList(await runGit(this.place, ["ls-files", "-z", "--cached", ...which], { indexFile }));
    } catch (error) {
      if (error instanceof GitError && error.reason === "failed") return []; // what is in it, no git can read
      throw error;
    }
  }

  async #isIgnored(directory: string): Promise<boolean> {
    try {
      await runGit(this.place, ["check-ignore", "-q", "--no-index", directory]);
      return true;
    } catch (error) {
      if (error instanceof GitError && error.reason === "failed") return false;
      throw error;
    }
  }
}

function versionOf(mode: string, object: string): Version | null {
  return mode === "000000" ? null : { mode, object };
}
