import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { WorkTree } from "./work-tree.ts";
import { findWorktreeState, makeWorktree, removeWorktree } from "./worktree.ts";

let folder: ReturnType<typeof makeFolder>;
let root: string;
let path: string;
let own: string;
const env = { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent" };

const git = (cwd: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
    cwd,
    env: { ...env, GIT_CONFIG_NOSYSTEM: "1" },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
const make = (more: object = {}) =>
  makeWorktree({ root, path, branch: "threadmux/1-a", name: "t1", ...more }, own, env);
const remove = (branch = "threadmux/1-a") =>
  removeWorktree({ path, branch, aside: join(folder.path, "gone") }, own, env);

beforeEach(() => {
  folder = makeFolder();
  [root, path, own] = ["r", "w", "o"].map((name) => join(folder.path, name)) as [string, string, string];
  mkdirSync(root);
  mkdirSync(own);
  git(root, "init", "-q", "-b", "main");
  mkdirSync(join(root, "sub"));
  writeFileSync(join(root, "sub/a.txt"), "one\n");
  writeFileSync(join(root, ".gitignore"), "out\n");
  git(root, "add", ".");
  git(root, "commit", "-qm", "first");
});
afterEach(() => folder.remove());

test("git takes it for its own: clean, on its branch; the repository stays as it was", async () => {
  writeFileSync(join(root, "sub/a.txt"), "two\n");
  await make();
  expect(git(path, "status", "--porcelain", "-b").trim()).toBe("## threadmux/1-a");
  expect(readFileSync(join(path, "sub/a.txt"), "utf8")).toBe("one\n");
  expect(git(root, "worktree", "list")).toContain(`${path} `);
  expect(git(root, "status", "--porcelain", "-b").trim()).toBe("## main\n M sub/a.txt");
  await make(); // what a kill left is made anew
  expect(git(path, "status", "--porcelain")).toBe("");
});

// Promise: S15
test("nothing of a hostile repository runs: hooks, filters, a monitor", async () => {
  const ran = join(folder.path, "ran");
  writeFileSync(join(root, ".gitattributes"), "* filter=evil\n");
  git(root, "add", ".");
  git(root, "commit", "-qm", "attributes");
  for (const kind of ["smudge", "process", "clean"])
    git(root, "config", `filter.evil.${kind}`, `touch ${ran}`);
  git(root, "config", "core.fsmonitor", `touch ${ran}`);
  writeFileSync(join(root, ".git/hooks/post-checkout"), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
  writeFileSync(join(root, ".git/hooks/reference-transaction"), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
  await make();
  expect(readFileSync(join(path, "sub/a.txt"), "utf8")).toBe("one\n");
  expect((await findWorktreeState(path, own, env)).fileCount).toBe(0);
  await remove();
  expect(existsSync(ran)).toBe(false);
});

test("what would be lost is counted; the branch goes only if nothing is lost with it", async () => {
  await make();
  expect(await findWorktreeState(path, own, env)).toMatchObject({ files: [], fileCount: 0, commits: 0 });
  writeFileSync(join(path, "sub/a.txt"), "two\n");
  writeFileSync(join(path, "new"), "x");
  writeFileSync(join(path, "out"), "ignored");
  const state = await findWorktreeState(path, own, env);
  expect({ ...state, files: state.files.sort() }).toMatchObject({
    files: ["new", "sub/a.txt"],
    fileCount: 2,
    commits: 0,
  });
  git(path, "add", "new");
  expect((await findWorktreeState(path, own, env)).files).toContain("new");
  git(path, "add", ".");
  git(path, "commit", "-qm", "second");
  expect(await findWorktreeState(path, own, env)).toMatchObject({ files: [], fileCount: 0, commits: 1 });
  expect(await remove()).toEqual({ branch: "threadmux/1-a" });
  expect(existsSync(path)).toBe(false);
  expect(git(root, "worktree", "list")).not.toContain(path);
  await expect(make()).rejects.toThrow("is there already, with commits of its own");
  await make({ branch: "threadmux/2-b" });
  expect(await remove("threadmux/2-b")).toEqual({ branch: undefined });
  expect(git(root, "branch", "--list", "threadmux/*").trim()).toBe("threadmux/1-a");
});

// Promise: S15
test("what its .git names is removed only if git keeps it for this worktree", async () => {
  const gitFile = join(path, ".git");
  await make();
  writeFileSync(gitFile, `gitdir: ${join(root, ".git")}\n`);
  await expect(remove()).rejects.toThrow("is no linked worktree");
  const other = join(folder.path, "other");
  git(root, "worktree", "add", "-q", "-b", "theirs", other);
  writeFileSync(gitFile, `gitdir: ${join(root, ".git/worktrees/other")}\n`);
  await expect(remove()).rejects.toThrow("is no linked worktree");
  expect(git(other, "status", "--porcelain", "-b").trim()).toBe("## theirs");
  expect(git(root, "log", "--format=%s", "theirs").trim()).toBe("first");
});

// Promise: S15
test("a branch that it was not made on stays; commits on no branch are told", async () => {
  git(root, "branch", "mine");
  await make();
  git(path, "switch", "-q", "mine");
  expect(await remove()).toEqual({ branch: undefined });
  expect(git(root, "branch", "--list", "mine", "threadmux/*").trim()).toBe("mine");
  await make();
  git(path, "switch", "-q", "--detach");
  expect(await findWorktreeState(path, own, env)).toMatchObject({ commits: 0, isDetached: true });
  git(path, "commit", "-qm", "loose", "--allow-empty");
  expect(await findWorktreeState(path, own, env)).toMatchObject({ commits: 1, isDetached: true });
  expect(await remove()).toEqual({ branch: undefined });
  expect(git(root, "branch", "--list", "threadmux/*").trim()).toBe("");
});

test("the files of a kept state, and an undo's state in the worktree itself", async () => {
  writeFileSync(join(root, "sub/a.txt"), "kept\n");
  const { tree } = await (await WorkTree.open(root, join(folder.path, "k"), env)).keep();
  writeFileSync(join(root, "sub/a.txt"), "later\n");
  await make({ tree });
  expect(readFileSync(join(path, "sub/a.txt"), "utf8")).toBe("kept\n");
  expect(git(path, "status", "--porcelain").trim()).toBe("M sub/a.txt");
  const linked = await WorkTree.open(path, join(folder.path, "l"), env);
  const before = await linked.keep();
  writeFileSync(join(path, "sub/a.txt"), "changed\n");
  expect(await linked.changes(before.tree, (await linked.keep()).tree)).toHaveLength(1);
});

// Promise: S15
test("a repository without a commit, and one that would have it written elsewhere, are refused", async () => {
  const elsewhere = join(folder.path, "e");
  mkdirSync(elsewhere);
  symlinkSync(elsewhere, join(root, ".git/refs/heads/threadmux"));
  await expect(make()).rejects.toThrow(/threadmux is not a directory/);
  const bare = join(folder.path, "b");
  mkdirSync(bare);
  git(bare, "init", "-q");
  await expect(make({ root: bare })).rejects.toThrow("no commit yet");
  await expect(make({ root: folder.path })).rejects.toThrow("is no git work tree");
});

test("one that can't be made leaves nothing behind, and no branch that was there goes", async () => {
  const names = () =>
    git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads").split("\n").filter(Boolean);
  const kept = join(root, ".git/worktrees/t1");
  await expect(make({ tree: "0".repeat(40) })).rejects.toThrow("read-tree");
  expect([existsSync(path), existsSync(kept), names()]).toEqual([false, false, ["main"]]);
  git(root, "branch", "threadmux/1-a");
  await expect(make({ tree: "0".repeat(40) })).rejects.toThrow("read-tree");
  expect([existsSync(path), existsSync(kept), names()]).toEqual([false, false, ["main", "threadmux/1-a"]]);
});

test("whoever can't see it does not take it for gone: git forgets none of it", async () => {
  await make();
  renameSync(path, `${path}.hidden`);
  git(root, "worktree", "prune", "--expire=now");
  git(root, "gc", "-q", "--prune=now");
  renameSync(`${path}.hidden`, path);
  expect(git(path, "status", "--porcelain", "-b").trim()).toBe("## threadmux/1-a");
  await remove();
  expect(git(root, "worktree", "list").trim().split("\n")).toHaveLength(1);
});
