/** Links that lead each program elsewhere, wherever they lead us. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../../../test/support/folders.ts";
import { link, put } from "../../testing/files.ts";
import { lookAround } from "./look-around.ts";

let root: ReturnType<typeof makeFolder>;
let repo: string;
const TOLD = "a link to what is another file for each program";
const look = (dir = repo) => lookAround(dir, { HOME: join(root.path, "home") });
const words = async (dir = repo) => ((await look(dir))?.items ?? []).map(({ text }) => text);

beforeEach(() => {
  root = makeFolder();
  repo = join(root.path, "repos", "repo");
  mkdirSync(join(repo, "sub"), { recursive: true });
});
afterEach(() => root.remove());

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
  expect(await words()).toEqual([`sub/lnk: ${TOLD}`, `sub/other: ${TOLD}`]);
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
