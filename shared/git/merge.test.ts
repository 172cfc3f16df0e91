import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import type { MergeHow } from "../worktree-api.ts";
import { mergeWorktree } from "./merge.ts";
import { makeWorktree } from "./worktree.ts";

let made: ReturnType<typeof makeFolder>;
let folder: string;
let root: string;
let path: string;
const env = { PATH: process.env["PATH"] ?? "", HOME: "/nowhere" };
const BRANCH = "threadmux/1-fix";

function git(cwd: string, ...args: string[]): string {
  return execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=a@b", ...args], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
}

function commit(cwd: string, files: Record<string, string>, message: string): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  git(cwd, "add", ".");
  git(cwd, "commit", "-qm", message);
}

beforeEach(async () => {
  made = makeFolder();
  folder = made.path;
  [root, path] = [join(folder, "shop"), join(folder, "tree")];
  mkdirSync(root);
  git(root, "init", "-q", "-b", "main");
  commit(root, { "a.txt": "one\n", "b.txt": "one\n" }, "first");
  await makeWorktree({ root, path, branch: BRANCH, name: "t" }, ownDir(), env);
});
afterEach(() => made.remove());

function ownDir(): string {
  return mkdtempSync(join(folder, "own-"));
}

const merge = (left = "main", how: MergeHow = "merge") =>
  mergeWorktree({ path, root, branch: BRANCH, left }, ownDir(), {
    how,
    env,
    nowMs: 1_800_000_000_000,
    journal: join(folder, "journal"),
  });

/** All that a merge could change. */
function stateOf() {
  return {
    heads: git(root, "for-each-ref", "refs/heads"),
    status: git(root, "status", "--porcelain"),
    tree: git(path, "status", "--porcelain"),
    files: ["a.txt", "b.txt"].map((name) => readFileSync(join(root, name), "utf8")),
  };
}

async function refused(how: MergeHow = "merge"): Promise<{ code: string; message: string }> {
  const before = stateOf();
  const error = await merge("main", how).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(stateOf()).toEqual(before);
  return error as { code: string; message: string };
}

test("a branch that only the worktree went on with is taken as it is, with its files", async () => {
  commit(path, { "a.txt": "two\n", new: "x\n" }, "second");
  const tip = git(path, "rev-parse", "HEAD");
  expect(await merge()).toEqual({
    into: "main",
    commit: tip,
    commits: 1,
    isFastForward: true,
    isCheckedOut: true,
    rebasedFrom: null,
    hooks: [],
  });
  expect(git(root, "rev-parse", "main")).toBe(tip);
  expect(git(root, "status", "--porcelain")).toBe("");
  expect(readFileSync(join(root, "new"), "utf8")).toBe("x\n");
  // Once more: there is nothing.
  expect(await refused()).toMatchObject({ code: "not_found", message: expect.stringContaining("Nothing") });
});

test("both went on: a commit of both, in the name of who worked there; no hook is run, and that is told", async () => {
  commit(path, { "a.txt": "two\n" }, "second");
  commit(root, { "b.txt": "two\n" }, "beside");
  writeFileSync(join(root, "untracked"), "mine\n");
  for (const hook of ["post-merge", "pre-merge-commit"]) {
    const file = join(root, ".git/hooks", hook);
    writeFileSync(file, `#!/bin/sh\ntouch ${join(folder, "ran")}\nexit 1\n`);
    chmodSync(file, 0o755);
  }
  const merged = await merge();
  expect(merged).toMatchObject({ isFastForward: false, hooks: ["pre-merge-commit", "post-merge"] });
  expect(git(root, "log", "-1", "--format=%an %s %P")).toBe(
    `Ada Merge branch '${BRANCH}' into main ${git(root, "rev-parse", "main^1", "main^2").replace("\n", " ")}`,
  );
  expect(git(root, "fsck", "--strict", "--no-dangling")).not.toContain("error");
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("two\n");
  expect(git(root, "status", "--porcelain")).toBe("?? untracked");
  expect(existsSync(join(folder, "ran"))).toBe(false);
});

test("a rebase makes the commits anew on top of the other branch, and the worktree goes on from there", async () => {
  commit(path, { "a.txt": "two\n" }, "second\n\nwith a body");
  git(path, "-c", "user.name=Eve", "commit", "-q", "--allow-empty", "-m", "empty");
  commit(path, { "c.txt": "c\n" }, "third");
  const was = git(path, "rev-parse", "HEAD");
  commit(root, { "b.txt": "two\n" }, "beside");
  // The same change stands on both branches.
  commit(root, { "c.txt": "c\n" }, "third, taken over");
  const before = git(root, "rev-parse", "main");
  const dates = git(path, "log", "--format=%ad", "HEAD~1", "-2");
  expect(await merge("main", "rebase")).toMatchObject({
    ...{ into: "main", commits: 2, isFastForward: false, isCheckedOut: true, rebasedFrom: was },
    commit: git(root, "rev-parse", "main"),
  });
  expect(git(root, "log", "--format=%an:%s:%P", "main", `^${before}`).split("\n")).toEqual([
    `Eve:empty:${git(root, "rev-parse", "main~1")}`,
    `Ada:second:${before}`,
  ]);
  expect(git(root, "log", "--format=%ad", "-2", "main")).toBe(dates);
  expect(git(root, "log", "-1", "--format=%B", "main~1")).toBe("second\n\nwith a body");
  expect(git(root, "fsck", "--strict", "--no-dangling")).not.toContain("error");
  expect(git(path, "rev-parse", "HEAD")).toBe(git(root, "rev-parse", "main"));
  expect(git(path, "symbolic-ref", "HEAD")).toBe(`refs/heads/${BRANCH}`);
  for (const place of [root, path]) {
    expect(git(place, "status", "--porcelain")).toBe("");
    expect(["a.txt", "b.txt", "c.txt"].map((name) => readFileSync(join(place, name), "utf8"))).toEqual([
      ...["two\n", "two\n", "c\n"],
    ]);
  }
  expect(await refused("rebase")).toMatchObject({ code: "not_found" });

  // All that it changes is there already: the worktree alone moves.
  commit(path, { "d.txt": "d\n" }, "fourth");
  commit(root, { "d.txt": "d\n", "b.txt": "three\n" }, "more than the fourth");
  const tip = git(root, "rev-parse", "main");
  expect(await merge("main", "rebase")).toMatchObject({ commits: 0, commit: tip });
  expect([git(root, "rev-parse", "main"), git(path, "rev-parse", "HEAD")]).toEqual([tip, tip]);
  expect(git(path, "status", "--porcelain")).toBe("");
});

test("a rebase that conflicts, or would lose a merge, changes nothing", async () => {
  commit(path, { "a.txt": "theirs\n" }, 'second "x"');
  commit(root, { "a.txt": "ours\n" }, "beside");
  expect(await refused("rebase")).toMatchObject({
    code: "merge_conflict",
    message:
      'One file conflicts at the commit "second \\"x\\"", and nothing was merged: "a.txt". Rebase or merge in the worktree first.',
  });
  git(path, "merge", "-q", "-s", "ours", "-m", "both", "main");
  commit(root, { "b.txt": "two\n" }, "more");
  expect(await refused("rebase")).toMatchObject({
    code: "unsupported",
    message: expect.stringMatching(/^One of its commits is a merge, which a rebase would lose/),
  });
  git(path, "switch", "-qd", "HEAD");
  expect(await refused("rebase")).toMatchObject({ code: "unsupported" });
});

test("conflicts are told by their files, and nothing is half done", async () => {
  commit(path, { "a.txt": "theirs\n", "b.txt": "theirs\n" }, "second");
  commit(root, { "a.txt": "ours\n", "b.txt": "ours\n" }, "beside");
  expect(await refused()).toMatchObject({
    code: "merge_conflict",
    message: expect.stringMatching(/^2 files conflict, and nothing was merged: "a.txt", "b.txt"\./),
  });
});

test("nothing changes if files are not committed, here or there, or are in the way", async () => {
  writeFileSync(join(path, "a.txt"), "uncommitted\n");
  expect(await refused()).toMatchObject({
    code: "worktree_dirty",
    message: expect.stringMatching(/^In the worktree one file is not committed; .*: "a.txt"\.$/),
  });
  commit(path, { new: "x\n" }, "second");
  writeFileSync(join(root, "b.txt"), "uncommitted\n");
  expect(await refused()).toMatchObject({
    code: "worktree_dirty",
    message: expect.stringMatching(/shop one file is not committed; commit or stash .*: "b.txt"\.$/),
  });
  git(root, "add", "b.txt");
  expect(await refused()).toMatchObject({ code: "worktree_dirty" });
  git(root, "reset", "-q", "--hard");
  writeFileSync(join(root, "new"), "mine\n");
  expect(await refused()).toMatchObject({
    code: "worktree_dirty",
    message: expect.stringMatching(
      /files are in the way; nothing was merged: .*'?new'? would be overwritten/s,
    ),
  });
  expect(readFileSync(join(root, "new"), "utf8")).toBe("mine\n");
});

test("a branch that is checked out nowhere moves alone; elsewhere, in the midst of a merge or gone, it is left", async () => {
  commit(path, { "a.txt": "two\n" }, "second");
  git(root, "switch", "-qc", "other");
  git(root, "worktree", "add", "-q", join(folder, "third"), "main");
  expect(await refused()).toMatchObject({
    code: "worktree_in_use",
    message: expect.stringContaining(`main is checked out in ${join(folder, "third")}`),
  });
  git(root, "worktree", "remove", join(folder, "third"));
  expect(await merge()).toMatchObject({ isCheckedOut: false, isFastForward: true });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\n");
  expect(git(root, "status", "--porcelain")).toBe("");

  git(root, "switch", "-q", "main");
  commit(path, { "a.txt": "three\n" }, "third");
  writeFileSync(join(root, ".git/MERGE_HEAD"), `${git(root, "rev-parse", "main")}\n`);
  expect(await refused()).toMatchObject({
    code: "worktree_in_use",
    message: expect.stringContaining("a merge is going on"),
  });
  rmSync(join(root, ".git/MERGE_HEAD"));
  writeFileSync(join(root, ".git/index.lock"), "");
  expect(await refused()).toMatchObject({ code: "worktree_in_use" });
  rmSync(join(root, ".git/index.lock"));
  // As if it had moved since it was read: the files that were changed by then are put back.
  writeFileSync(join(root, ".git/refs/heads/main.lock"), "");
  expect(await refused()).toMatchObject({
    code: "worktree_in_use",
    message: expect.stringContaining("main has moved meanwhile, or another git command holds it"),
  });
  rmSync(join(root, ".git/refs/heads/main.lock"));
  await expect(merge("gone")).rejects.toMatchObject({ code: "not_found" });
  expect(await merge()).toMatchObject({ commits: 1 });
});

test("a repository with more worktrees than are looked at is left as it is", async () => {
  commit(path, { "a.txt": "two\n" }, "second");
  for (let at = 0; at < 1_000; at++) mkdirSync(join(root, ".git/worktrees", `w${at}`));
  expect(await refused()).toMatchObject({
    code: "worktree_in_use",
    message: expect.stringMatching(/^main may be checked out in one of 1001 worktrees/),
  });
});

test("a worktree that names another repository as its own is refused", async () => {
  const other = join(folder, "other");
  mkdirSync(other);
  git(other, "init", "-q", "-b", "main");
  commit(other, { "a.txt": "other\n" }, "first");
  commit(path, { "a.txt": "two\n" }, "second");
  writeFileSync(join(path, ".git"), `gitdir: ${join(other, ".git")}\n`);
  await expect(merge()).rejects.toThrow("is no linked worktree");
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\n");
});
