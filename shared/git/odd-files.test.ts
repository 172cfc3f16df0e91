/** Files that git would wait for or never end reading: it is ended, and they are named. */
import { execFileSync } from "node:child_process";
import fs, { mkdirSync, rmSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { findDirty } from "../../vm/threads/git-dirty.ts";
import { findOddFile } from "./odd-files.ts";
import { findRepository } from "./repository.ts";
import { GitError } from "./run-git.ts";
import { WorkTree } from "./work-tree.ts";

let made: ReturnType<typeof makeFolder>;
let folder: string;
let root: string;
const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/nonexistent" };
const open = () => WorkTree.open(root, join(folder, "own"), env);

beforeEach(() => {
  made = makeFolder();
  folder = made.path;
  root = join(folder, "repo");
  mkdirSync(join(root, "a/b"), { recursive: true });
  execFileSync("git", ["init", "-q", "-b", "main"], { cwd: root, env: { ...env, HOME: folder } });
  writeFileSync(join(root, "a/b/file"), "x\n");
});
afterEach(() => made.remove());

function makeFifo(path: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  execFileSync("mkfifo", [join(root, path)]);
}

/** As large as no memory is; it takes no room on the disk. */
function makeLarge(path: string): void {
  writeFileSync(join(root, path), "");
  truncateSync(join(root, path), 10 * 1024 ** 3);
}

async function problemOf(work: Promise<unknown>): Promise<{ reason: string; message: string }> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof GitError)) throw new Error(`no GitError: ${String(error)}`);
  return { reason: error.reason, message: error.message };
}

// Promise: S14
test.each([".gitignore", "a/b/.gitignore", "a/.gitattributes"])("a FIFO at %s", async (path) => {
  makeFifo(path);
  const startedAt = performance.now();
  expect(await problemOf((await open()).keep())).toEqual({
    reason: "slow",
    message: `git can't read ${path}, which is no regular file`,
  });
  expect(performance.now() - startedAt).toBeLessThan(15_000);
});

test.each([".gitignore", "a/b/.gitignore"])(
  "10 GB at %s cost git no more memory than it may have",
  async (path) => {
    makeLarge(path);
    expect(await problemOf((await open()).keep())).toEqual({
      reason: "large",
      message: `git needs more than 1 GiB of memory: ${path} is larger than 100 MiB`,
    });
  },
);

test.each([makeFifo, makeLarge])("an info/exclude that is no small file is left out (%o)", async (make) => {
  rmSync(join(root, ".git/info"), { recursive: true, force: true });
  mkdirSync(join(root, ".git/info"));
  make(".git/info/exclude");
  const { tree } = await (await open()).keep();
  expect(tree).toMatch(/^[0-9a-f]{40}$/);
  const repository = await findRepository(root);
  if (!repository) throw new Error("no repository");
  const signal = AbortSignal.timeout(10_000);
  expect(await findDirty(repository, { env, signal })).toBe(true);
});

test("an info/exclude that becomes a FIFO later is named", async () => {
  mkdirSync(join(root, ".git/info"), { recursive: true });
  writeFileSync(join(root, ".git/info/exclude"), "");
  const tree = await open();
  await tree.keep();
  unlinkSync(join(root, ".git/info/exclude"));
  makeFifo(".git/info/exclude");
  expect(await problemOf(tree.keep())).toMatchObject({
    message: "git can't read .git/info/exclude, which is no regular file",
  });
});

test("what git reads gladly is not odd", async () => {
  writeFileSync(join(root, ".gitignore"), "x\n");
  makeFifo("a/pipe");
  expect(await findOddFile(root, join(root, ".git"))).toBeUndefined();
  expect(await findOddFile(join(root, "gone"), root)).toBeUndefined();
});

test("a folder that can't be read to its end is no failure of whoever asks", async () => {
  const { opendir } = fs.promises;
  const broken = Object.assign(new Error("input/output error"), { code: "EIO" });
  fs.promises.opendir = async () =>
    ({
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(broken) }),
    }) as unknown as Awaited<ReturnType<typeof opendir>>;
  syncBuiltinESMExports();
  try {
    expect(await findOddFile(root, join(root, ".git"))).toBeUndefined();
  } finally {
    fs.promises.opendir = opendir;
    syncBuiltinESMExports();
  }
});
