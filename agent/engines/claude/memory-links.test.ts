/** Words that claude reads by itself, behind links: what is the repository's is no question, what is not is one. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../../../test/support/folders.ts";
import { git, link, put } from "../../testing/files.ts";
import { lookAround } from "./look-around.ts";

let root: ReturnType<typeof makeFolder>;
let repo: string;
const OUTSIDE = ": a link to what is outside of the directory: it is loaded, and not shown";
const look = (dir = repo) => lookAround(dir, { HOME: join(root.path, "home") });
const words = async (dir = repo) => ((await look(dir))?.items ?? []).map(({ text }) => text);

beforeEach(() => {
  root = makeFolder();
  repo = join(root.path, "repos", "repo");
  mkdirSync(join(repo, "sub"), { recursive: true });
  put(join(root.path, "outside", "file"));
});
afterEach(() => root.remove());

// Promise: S9
test.each([
  "CLAUDE.md",
  "CLAUDE.local.md",
  "AGENTS.md",
  ".claude/CLAUDE.md",
  "sub/CLAUDE.md",
  "sub/deep/.claude/CLAUDE.local.md",
  "sub/.claude/AGENTS.md",
  "sub/.claude/rules/a/r.md",
])("%s that is a link out of the directory is told, and nothing of what is there", async (name) => {
  link(join(root.path, "outside", "file"), join(repo, name));
  expect(await words()).toEqual([`${name}${OUTSIDE}`]);
  const before = (await look())?.key;
  put(join(root.path, "outside", "other"));
  rmSync(join(repo, name));
  link(join(root.path, "outside", "other"), join(repo, name));
  expect((await look())?.key).not.toBe(before);
});

test.each([
  ["lnk", "CLAUDE.md"],
  ["sub/lnk", "deep/er/AGENTS.md"],
  [".claude", "CLAUDE.md"],
  ["sub/.claude/rules", "r.md"],
])("a folder behind the link %s that holds %s is told, once", async (name, file) => {
  link(join(root.path, "outside"), join(repo, name));
  expect(await look()).toBeUndefined();
  put(join(root.path, "outside", file));
  expect(await words()).toEqual([`${name}${OUTSIDE}`]);
  for (let i = 0; i < 150; i++) put(join(root.path, "outside", file, "..", `${i}`, "CLAUDE.md"));
  expect(await words()).toHaveLength(1);
  expect((await look())?.isWhole).toBe(true);
});

test("links within the repository and its trees are its own", async () => {
  git(repo, "init", "-q");
  git(repo, "commit", "-q", "--allow-empty", "-m", "x");
  put(join(repo, "AGENTS.md"));
  link("AGENTS.md", join(repo, "CLAUDE.md"));
  link("../AGENTS.md", join(repo, "sub", "CLAUDE.md"));
  const tree = join(root.path, "tree");
  git(repo, "worktree", "add", "-q", tree);
  link(join(repo, "AGENTS.md"), join(tree, "CLAUDE.md"));
  expect([await look(), await look(join(repo, "sub")), await look(tree)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("those above the directory count up to where the repository begins: the others are the person's own", async () => {
  mkdirSync(join(repo, ".git"));
  const dir = join(repo, "sub", "deep");
  mkdirSync(dir, { recursive: true });
  link(join(root.path, "outside", "file"), join(root.path, "repos", "CLAUDE.md"));
  expect(await words(dir)).toEqual([]);
  link(join(root.path, "outside", "file"), join(repo, "CLAUDE.md"));
  link(join(root.path, "outside", "file"), join(repo, "sub", "AGENTS.md"));
  link(join(root.path, "outside"), join(repo, ".claude", "rules"));
  expect(await words(dir)).toEqual([
    `../AGENTS.md${OUTSIDE}`,
    `../../CLAUDE.md${OUTSIDE}`,
    `../../.claude/rules${OUTSIDE}`,
  ]);
});
