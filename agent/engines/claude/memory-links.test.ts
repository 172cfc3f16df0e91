/** Words that claude reads by itself, behind links: what is the repository's is no question, what is not is one. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../../../test/support/folders.ts";
import { lookAround } from "./look-around.ts";

let root: ReturnType<typeof makeFolder>;
let repo: string;
const OUTSIDE = ": a link to what is outside of the directory: it is loaded, and not shown";
const look = (dir = repo) => lookAround(dir, { HOME: join(root.path, "home") });
const words = async (dir = repo) => ((await look(dir))?.items ?? []).map(({ text }) => text);

function put(path: string, text = "kumquat"): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

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
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", repo, "-c", "user.name=n", "-c", "user.email=e@x", ...args], {
      stdio: "pipe",
    });
  git("init", "-q");
  git("commit", "-q", "--allow-empty", "-m", "x");
  put(join(repo, "AGENTS.md"));
  link("AGENTS.md", join(repo, "CLAUDE.md"));
  link("../AGENTS.md", join(repo, "sub", "CLAUDE.md"));
  const tree = join(root.path, "tree");
  git("worktree", "add", "-q", tree);
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

test.each([
  "/proc/self/cwd/../../token",
  "/proc/self/cwd/../../../token",
  "/./proc/self/cwd/../../../../state/token",
  "/dev/../proc/self/cwd",
  "../out/../../proc/self/cwd/../../../token",
  "/proc/thread-self/root/etc/passwd",
  "../../../../../../proc/self/cwd",
  "/dev/fd/3",
  "/proc/1/environ",
])("a link that leads each program elsewhere is told, though it leads us nowhere: %s", async (target) => {
  link("/usr/bin", join(repo, "out"));
  link(target, join(repo, "sub", "lnk"));
  link("lnk", join(repo, "sub", "other"));
  const told = "a link to what is another file for each program";
  expect(await words()).toEqual([`sub/lnk: ${told}`, `sub/other: ${told}`]);
  expect((await look())?.isWhole).toBe(true);
});

test("a folder of the repository that is called proc is no such way", async () => {
  put(join(repo, "proc", "self", "file"));
  link("../proc/self/file", join(repo, "sub", "lnk"));
  link("../proc/none", join(repo, "sub", "gone"));
  expect(await look()).toBeUndefined();
});

test.each(["CLAUDE.md", ".claude/rules"])(
  "one above the directory that leads each program elsewhere is told: %s",
  async (name) => {
    mkdirSync(join(repo, ".git"));
    link("/proc/self/cwd/../../../token", join(repo, name));
    expect(await words(join(repo, "sub"))).toEqual([
      `../${name}: a link to what is another file for each program`,
    ]);
  },
);

// Promise: S9
test.each([".claude/settings.json", ".mcp.json", ".claude/skills", ".claude/skills/a/SKILL.md", ".claude"])(
  "settings above the directory that are others for each program can't be trusted: %s",
  async (name) => {
    mkdirSync(join(repo, ".git"));
    link("/proc/self/cwd/../../../evil", join(repo, name));
    const found = await look(join(repo, "sub"));
    expect(found?.isWhole).toBe(false);
    expect(found?.items.map(({ text }) => text)).toContain(
      `../${name === ".claude" ? ".claude/settings.json" : name}: it leads to what is another file for each program`,
    );
  },
);
