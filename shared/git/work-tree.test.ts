import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findTurn, forgetThread, keepTurn } from "./refs.ts";
import { findRepository } from "./repository.ts";
import { restore, type Undoing } from "./restore.ts";
import { WorkTree } from "./work-tree.ts";

let folder: string;
let root: string;
const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/nonexistent" };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "threadmux-work-tree-"));
  root = join(folder, "repo");
  mkdirSync(root);
  git("init", "-q", "-b", "main");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function gitIn(cwd: string, ...args: string[]): string {
  const who = {
    GIT_AUTHOR_NAME: "t",
    GIT_AUTHOR_EMAIL: "t@t",
    GIT_COMMITTER_NAME: "t",
    GIT_COMMITTER_EMAIL: "t@t",
  };
  return execFileSync("git", args, { cwd, env: { ...env, ...who, HOME: folder }, encoding: "utf8" });
}
const git = (...args: string[]) => gitIn(root, ...args);
const open = (at = root) => WorkTree.open(at, join(folder, "own"), env);
const read = (path: string) => readFileSync(join(root, path), "latin1");
function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text, "latin1");
}

/** What a person has beside the files: branch, index, stash, refs. */
function standing(): string {
  const stash = git("stash", "list");
  return [git("rev-parse", "HEAD"), git("ls-files", "-s"), git("symbolic-ref", "HEAD"), stash].join("\n");
}

async function turn(change: () => void): Promise<{ tree: WorkTree; before: string; after: string }> {
  const tree = await open();
  const before = await tree.keep();
  change();
  const after = await tree.keep();
  return { tree, before: before.tree, after: after.tree };
}

async function undo({ tree, before, after }: Awaited<ReturnType<typeof turn>>) {
  return restore(tree, await tree.changes(before, after), undoing("u1"));
}

/** What an undoing has noted is what its next try finds. */
function undoing(id: string): Undoing {
  const file = join(folder, `${id}.json`);
  return {
    id,
    findMeant: () => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : []),
    noteMeant: (paths) => writeFileSync(file, JSON.stringify(paths)),
  };
}

test("no state is kept of a work tree that holds our own folder, though it became one later", async () => {
  write("a.txt", "one\n");
  await (await open()).keep();
  writeFileSync(join(folder, "token"), "secret");
  rmSync(join(root, ".git"), { recursive: true });
  gitIn(folder, "init", "-q", "-b", "main");
  await expect(open()).rejects.toThrow("holds the folder of threadmux itself");
  symlinkSync(folder, `${folder}-link`);
  try {
    const own = join(`${folder}-link`, "own");
    await expect(WorkTree.open(root, own, env)).rejects.toThrow("holds the folder of threadmux itself");
  } finally {
    rmSync(`${folder}-link`);
  }
});

test("a HEAD that leads to another folder's file is none: a token may look like a commit", async () => {
  writeFileSync(join(folder, "token"), "0123456789abcdef".repeat(4));
  rmSync(join(root, ".git/HEAD"));
  symlinkSync(join(folder, "token"), join(root, ".git/HEAD"));
  expect(await findRepository(root)).toBeUndefined();
  // As git once made it.
  rmSync(join(root, ".git/HEAD"));
  writeFileSync(join(root, ".git/refs/heads/main"), "0123456789".repeat(4));
  symlinkSync("refs/heads/main", join(root, ".git/HEAD"));
  expect((await findRepository(root))?.branch).toBe("01234567");
});

test("edits, new, deleted, renamed, binary and executable files and links go back, byte by byte", async () => {
  const bytes = Buffer.from(Array.from({ length: 512 }, (_, i) => i % 256)).toString("latin1");
  write("a.txt", "one\r\ntwo\n");
  write("sub/deep/b.bin", bytes);
  write("gone", "gone");
  write("old-name", "renamed");
  write("run.sh", "#!/bin/sh\n");
  chmodSync(join(root, "run.sh"), 0o755);
  symlinkSync("a.txt", join(root, "link"));
  write("umlaut-\xe4", "latin1 name");
  git("add", "-A");
  git("commit", "-qm", "x");
  write("staged", "staged");
  git("add", "staged");
  write("untracked", "untracked");
  const stood = standing();
  const done = await turn(() => {
    write("a.txt", "other\n");
    write("sub/deep/b.bin", `${bytes}x`);
    rmSync(join(root, "gone"));
    renameSync(join(root, "old-name"), join(root, "new-name"));
    chmodSync(join(root, "run.sh"), 0o644);
    rmSync(join(root, "link"));
    symlinkSync("gone", join(root, "link"));
    write("new/folder/c", "new");
    write("staged", "changed");
    write("untracked", "changed");
  });
  expect((await undo(done)).left).toEqual([]);
  expect(read("a.txt")).toBe("one\r\ntwo\n");
  expect(read("sub/deep/b.bin")).toBe(bytes);
  expect([read("gone"), read("old-name"), read("staged"), read("untracked")]).toEqual([
    "gone",
    "renamed",
    "staged",
    "untracked",
  ]);
  expect(existsSync(join(root, "new-name"))).toBe(false);
  expect(existsSync(join(root, "new"))).toBe(false);
  expect(lstatSync(join(root, "run.sh")).mode & 0o777).toBe(0o755);
  expect(readlinkSync(join(root, "link"))).toBe("a.txt");
  expect(standing()).toBe(stood);
});

test("a file that was changed since is left and named, and an undo is undone", async () => {
  write("mine", "1");
  write("theirs", "1");
  const done = await turn(() => {
    write("mine", "2");
    write("theirs", "2");
    write("new", "2");
  });
  write("theirs", "3");
  const undone = await undo(done);
  expect(undone.left).toEqual([{ path: "theirs", reason: "changed since" }]);
  expect([read("mine"), read("theirs"), existsSync(join(root, "new"))]).toEqual(["1", "3", false]);
  // Tried again after a kill it comes to the same.
  expect((await undo(done)).changes).toHaveLength(undone.changes.length);
  const redone = await restore(done.tree, undone.changes, undoing("u2"));
  expect(redone.left).toEqual([]);
  expect([read("mine"), read("theirs"), read("new")]).toEqual(["2", "3", "2"]);
});

test("what somebody else had put back is not undone with the undo", async () => {
  write("edited", "1");
  const done = await turn(() => {
    write("edited", "2");
    write("new", "2");
    write("other", "2");
  });
  rmSync(join(root, "new"));
  const undone = await undo(done);
  expect(undone.changes.map(({ path }) => path)).toEqual(["edited", "other"]);
  expect(undone.left).toEqual([]);
  await restore(done.tree, undone.changes, undoing("u2"));
  expect([read("edited"), existsSync(join(root, "new")), read("other")]).toEqual(["2", false, "2"]);
});

test("a folder that became a file, and a file that became a folder", async () => {
  write("folder/a", "a");
  write("file", "f");
  const done = await turn(() => {
    rmSync(join(root, "folder"), { recursive: true });
    write("folder", "file now");
    rmSync(join(root, "file"));
    write("file/b", "b");
  });
  expect((await undo(done)).left).toEqual([]);
  expect([read("folder/a"), read("file")]).toEqual(["a", "f"]);
});

// Promise: S14
test("nothing that the repository names is run, and no file is converted", async () => {
  const ran = join(folder, "ran");
  const attributes = "*.txt text eol=crlf filter=evil ident working-tree-encoding=UTF-16\n*.bin diff=evil\n";
  write(".gitattributes", attributes);
  for (const key of ["filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "diff.evil.textconv"])
    git("config", key, `touch ${ran}; cat`);
  git("config", "core.hooksPath", join(folder, "hooks"));
  write("a.txt", "$Id$ a\nb\r\n");
  write("a.bin", "x");
  const done = await turn(() => {
    write("a.txt", "$Id$ c\n");
    write("a.bin", "y");
  });
  expect((await undo(done)).left).toEqual([]);
  expect(read("a.txt")).toBe("$Id$ a\nb\r\n");
  expect(existsSync(ran)).toBe(false);
});

test("ignored files stay out, unless they are in the repository; a directory that is ignored has no state", async () => {
  write(".gitignore", "*.log\nout/\n");
  write("kept.log", "1");
  write("out/x", "1");
  git("add", "-f", "kept.log");
  const done = await turn(() => {
    write("kept.log", "2");
    write("other.log", "2");
  });
  expect((await done.tree.changes(done.before, done.after)).map(({ path }) => path)).toEqual(["kept.log"]);
  await undo(done);
  expect([read("kept.log"), read("other.log")]).toEqual(["1", "2"]);
  await expect(open(join(root, "out"))).rejects.toThrow(/ignores/);
  await expect(open(folder)).rejects.toThrow(/in no git work tree/);
});

test("a sub-folder's repository is left alone and named; so are very large files and a sparse checkout's", async () => {
  write("inner/f", "1");
  gitIn(join(root, "inner"), "init", "-q");
  write("huge", "");
  write("kept/a", "1");
  write("away/b", "1");
  git("add", "kept", "away");
  git("commit", "-qm", "x");
  git("sparse-checkout", "set", "--no-cone", "/kept/", "/huge", "/inner/");
  execFileSync("truncate", ["-s", "40M", join(root, "huge")]);
  const tree = await open();
  const { tree: before, left } = await tree.keep();
  expect(left).toEqual([
    { path: "huge", reason: "larger than 32 MiB" },
    { path: "inner/", reason: "a repository of its own" },
  ]);
  write("inner/f", "2");
  write("away/b", "2");
  write("kept/a", "2");
  const after = await tree.keep();
  const { left: leftBack } = await restore(tree, await tree.changes(before, after.tree), undoing("u1"));
  expect(leftBack).toEqual([{ path: "away/b", reason: "outside of the sparse checkout" }]);
  expect([read("inner/f"), read("kept/a"), read("away/b")]).toEqual(["2", "1", "2"]);
});

// Promise: S14
test("no file is written through a folder that has become a link", async () => {
  write("sub/a", "1");
  const done = await turn(() => write("sub/a", "2"));
  renameSync(join(root, "sub"), join(folder, "elsewhere"));
  symlinkSync(join(folder, "elsewhere"), join(root, "sub"));
  expect((await undo(done)).left).toEqual([{ path: "sub/a", reason: "its folder is a link now" }]);
  expect(readFileSync(join(folder, "elsewhere/a"), "utf8")).toBe("2");
});

// Promise: S14
test("states are kept over a gc, under refs of their own; a ref that leads elsewhere is replaced", async () => {
  write("a", "1");
  git("add", "a");
  git("commit", "-qm", "x");
  const head = git("rev-parse", "HEAD");
  mkdirSync(join(root, ".git/refs/threadmux/12/e1-0"), { recursive: true });
  writeFileSync(join(root, ".git/refs/threadmux/12/e1-0/before"), "ref: refs/heads/main\n");
  const done = await turn(() => write("a", "2"));
  await keepTurn(done.tree, "12", "e1-0", done);
  expect(git("rev-parse", "HEAD")).toBe(head);
  git("gc", "-q", "--prune=now");
  expect(await findTurn(done.tree, "12", "e1-0")).toEqual({ before: done.before, after: done.after });
  await undo(done);
  expect(read("a")).toBe("1");
  expect(git("log", "--all", "--format=%s")).toBe("x\n");
  await forgetThread(done.tree, "12");
  expect(await findTurn(done.tree, "12", "e1-0")).toBeUndefined();
  git("fsck", "--strict");
});

test("in the middle of a merge, and without what the files were, nothing is touched", async () => {
  write("a", "1");
  write("b", "1");
  const done = await turn(() => {
    write("a", "2");
    write("b", "2");
  });
  writeFileSync(join(root, ".git/MERGE_HEAD"), "");
  await expect(undo(done)).rejects.toThrow("a merge is going on");
  rmSync(join(root, ".git/MERGE_HEAD"));
  git("gc", "-q", "--prune=now");
  await expect(undo(done)).rejects.toThrow();
  expect([read("a"), read("b")]).toEqual(["2", "2"]);
});

test("a repository with SHA-256 names", async () => {
  rmSync(join(root, ".git"), { recursive: true });
  git("init", "-q", "--object-format=sha256");
  write("a", "1");
  const done = await turn(() => write("a", "2"));
  expect(done.before).toHaveLength(64);
  expect((await undo(done)).left).toEqual([]);
  expect(read("a")).toBe("1");
});

test("objects and refs that lead out of the repository are refused", async () => {
  mkdirSync(join(folder, "away"));
  symlinkSync(join(folder, "away"), join(root, ".git/refs/threadmux"));
  await expect(open()).rejects.toThrow("refs/threadmux of the repository is not a directory");
});
