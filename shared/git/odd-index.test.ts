/** States and undoing in repositories whose own index is not the usual one: nothing hides a change, and nobody touches it. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { restore } from "./restore.ts";
import { WorkTree } from "./work-tree.ts";

let folder: string;
let root: string;
const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/nonexistent" };
const own = () => join(folder, "own");
const open = () => WorkTree.open(root, own(), env);
const undoing = { id: "u1", findMeant: () => [], noteMeant: () => undefined };
const read = (path: string) => readFileSync(join(root, path), "utf8");
const write = (path: string, text: string) => writeFileSync(join(root, path), text);

function git(...args: string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@t"];
  const home = { ...env, HOME: folder };
  return execFileSync("git", [...who, ...args], { cwd: root, env: home, encoding: "utf8", stdio: "pipe" });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "threadmux-odd-index-"));
  root = join(folder, "repo");
  mkdirSync(join(root, "d"), { recursive: true });
  git("init", "-q", "-b", "main");
  for (const path of ["a", "b", "d/c", "kept.log"]) write(path, "1");
  symlinkSync("a", join(root, "link"));
  write(".gitignore", "*.log\n");
  git("add", "-A");
  git("add", "-f", "kept.log");
  git("commit", "-qm", "first");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Everything of the repository that is no object and no state. */
function standing(): Record<string, string> {
  const dir = join(root, ".git");
  const names = readdirSync(dir).filter((name) => statSync(join(dir, name)).isFile());
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(dir, name), "latin1")]));
}

const conflict = () => {
  for (const [branch, text] of [
    ["one", "one"],
    ["two", "two"],
  ] as const) {
    git("checkout", "-q", "-b", branch, "main");
    write("b", text);
    git("commit", "-qam", branch);
  }
  try {
    git("merge", "one");
  } catch {
    // the conflict
  }
  rmSync(join(root, ".git/MERGE_HEAD")); // an undo in the middle of a merge is refused
};

const cases: Record<string, () => void> = {
  "as it is": () => undefined,
  "with files assumed to be unchanged": () => void git("update-index", "--assume-unchanged", "a", "d/c"),
  "with files that are not to be looked at": () =>
    void git("update-index", "--skip-worktree", "--", ".gitignore"),
  "in two parts": () => void git("update-index", "--split-index"),
  "of version 4, with times of untracked files": () =>
    void git("update-index", "--index-version", "4", "--untracked-cache"),
  "with files that are meant to be added": () => {
    write("meant", "1");
    git("add", "-N", "meant");
  },
  "with a conflict in it": conflict,
  "that is corrupt": () => write(".git/index", "DIRC, or so"),
  "that is cut off": () => write(".git/index", readFileSync(join(root, ".git/index"), "latin1").slice(0, 70)),
  "that is missing": () => rmSync(join(root, ".git/index")),
};

test.each(Object.entries(cases))("an index %s", async (name, make) => {
  // Only an index tells which of the ignored files are in the repository.
  const changed = ["a", "b", "d/c", ...(/^that/.test(name) ? [] : ["kept.log"])];
  make();
  const b = read("b");
  const stood = standing();
  const tree = await open();
  const before = await tree.keep();
  for (const path of [...changed, "new"]) write(path, "2");
  const after = await tree.keep();
  const changes = await tree.changes(before.tree, after.tree);
  expect(changes.map(({ path }) => path)).toEqual([...changed, "new"]);
  const { left } = await restore(tree, changes, undoing);
  expect(left).toEqual([]);
  expect(changed.map(read)).toEqual(changed.map((path) => (path === "b" ? b : "1")));
  expect(existsSync(join(root, "new"))).toBe(false);
  expect(standing()).toEqual(stood);
});

test("a sparse index", async () => {
  git("sparse-checkout", "set", "--cone", "--sparse-index", "d");
  expect(git("ls-files", "--sparse")).toContain("d/c");
  const stood = standing();
  const tree = await open();
  const before = await tree.keep();
  write("a", "2");
  write("d/c", "2");
  const changes = await tree.changes(before.tree, (await tree.keep()).tree);
  await restore(tree, changes, undoing);
  expect([read("a"), read("d/c")]).toEqual(["1", "1"]);
  expect(standing()).toEqual(stood);
});

test("a change of the same length within the time stamp's second is seen", async () => {
  const tree = await open();
  const time = new Date();
  utimesSync(join(root, "a"), time, time);
  const before = await tree.keep();
  write("a", "2");
  utimesSync(join(root, "a"), time, time);
  const after = await tree.keep();
  expect(await tree.changes(before.tree, after.tree)).toMatchObject([{ path: "a" }]);
});

test("an index of our own that is no index any more is made anew", async () => {
  const first = await (await open()).keep();
  for (const content of ["DIRC", "", "\0".repeat(4_000)]) {
    writeFileSync(join(own(), "index"), content);
    writeFileSync(join(own(), "index.lock"), "");
    expect((await (await open()).keep()).tree).toBe(first.tree);
  }
});
