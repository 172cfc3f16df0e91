/**
 * A sidecar is killed while it merges or rebases a worktree. The next one restores the old state or completes the new
 * one.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import { makeWorktree } from "../../shared/git/worktree.ts";
import { Worktrees } from "../../vm/agents/worktrees.ts";
import { inFull } from "../support/faults.ts";
import { makeFolder } from "../support/folders.ts";
import { git } from "../support/worktrees.ts";

const preload = fileURLToPath(new URL("../fixtures/kill-at-step.mjs", import.meta.url));
const BRANCH = "threadmux/1-fix";
const env = { PATH: process.env["PATH"] ?? "", HOME: "/nowhere" };
let made: ReturnType<typeof makeFolder>;
let program: string;
let now: string;

beforeAll(async () => {
  made = makeFolder();
  program = join(made.path, "merge.mjs");
  const entry = fileURLToPath(new URL("../fixtures/merge-worktree.ts", import.meta.url));
  await build({
    entryPoints: [entry],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
  });
  now = join(made.path, "now");
  await makeRepository(now);
  cpSync(now, join(made.path, "kept"), { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
});
afterAll(() => made.remove());

const commit = (cwd: string, message: string) => {
  git(cwd, "add", "-A");
  git(cwd, "commit", "-qm", message);
};

/**
 * Makes two branches that both went on: files changed, added, removed, made a folder, a link, a program; one is large.
 */
async function makeRepository(folder: string): Promise<void> {
  const [root, path] = [join(folder, "repos/shop"), join(folder, "state/worktrees/t")];
  mkdirSync(root, { recursive: true });
  git(root, "init", "-q", "-b", "main");
  for (const name of ["a", "b", "gone", "run", "turned"]) writeFileSync(join(root, name), `${name} one\n`);
  symlinkSync("a", join(root, "link"));
  commit(root, "first");
  const own = join(folder, "own");
  mkdirSync(own);
  mkdirSync(path, { recursive: true });
  await makeWorktree({ root, path, branch: BRANCH, name: "t" }, own, env);
  rmSync(own, { recursive: true });
  writeFileSync(join(path, "a"), "a two\n");
  writeFileSync(join(path, "large"), `${"x".repeat(99)}\n`.repeat(40_000));
  chmodSync(join(path, "run"), 0o755);
  for (const name of ["gone", "turned", "link"]) rmSync(join(path, name));
  symlinkSync("b", join(path, "link"));
  mkdirSync(join(path, "turned"));
  writeFileSync(join(path, "turned/in"), "in\n");
  commit(path, "second");
  writeFileSync(join(path, "z"), "z\n");
  commit(path, "third");
  writeFileSync(join(root, "b"), "b two\n");
  commit(root, "beside");
  writeFileSync(join(root, "untracked"), "mine\n");
}

function renew(): void {
  rmSync(now, { recursive: true });
  cpSync(join(made.path, "kept"), now, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
}

const options = () => ({
  stateDir: join(now, "state"),
  reposDir: join(now, "repos"),
  threadEnv: env,
  setup: undefined,
});

function merge(how: string, variables: Record<string, string>) {
  const worktree = {
    root: join(now, "repos/shop"),
    path: join(now, "state/worktrees/t"),
    branch: BRANCH,
    left: "main",
  };
  const argument = JSON.stringify({ config: { worktree } as ThreadConfig, how, options: options() });
  const steps = join(now, "steps");
  const ended = spawnSync(process.execPath, ["--import", preload, program, argument], {
    env: { ...env, ...variables, STEPS: steps },
    encoding: "utf8",
  });
  return {
    signal: ended.signal,
    error: ended.stderr,
    steps: readFileSync(steps, "utf8").trimEnd().split("\n"),
  };
}

/** Reads all that a merge could change or leave behind. */
function stateOf() {
  const [root, path] = [join(now, "repos/shop"), join(now, "state/worktrees/t")];
  const files = (folder: string) =>
    (readdirSync(folder, { recursive: true, encoding: "utf8" }) as string[])
      .filter((name) => !/^\.git(\/|$)/.test(name))
      .sort()
      .map((name) => {
        const found = lstatSync(join(folder, name));
        const content = found.isSymbolicLink()
          ? readlinkSync(join(folder, name))
          : found.isFile() && readFileSync(join(folder, name), "utf8").slice(-20) + found.size;
        return `${name} ${found.mode.toString(8)} ${content}`;
      });
  return {
    refs: git(root, "for-each-ref", "refs/heads", "--format=%(refname) %(objectname)"),
    status: [git(root, "status", "--porcelain"), git(path, "status", "--porcelain")],
    files: [files(root), files(path)],
    left: [join(root, ".git"), join(root, ".git/worktrees/t"), join(now, "state/worktrees")].flatMap(
      (folder) =>
        readdirSync(folder).filter((name) => /lock$|^threadmux-index|^\./.test(name) && name !== "locked"),
    ),
  };
}

async function recover(): Promise<void> {
  const log = { warn: () => undefined, error: (...words: unknown[]) => expect(words).toEqual([]) };
  await new Worktrees({ ...options(), log: log as never }).recover();
}

// Promise: R26
test.each(["merge", "rebase"])("a kill at each step of a %s leaves the old or the new state", async (how) => {
  renew();
  const before = stateOf();
  expect(before.status[0]).toBe("?? untracked");
  const whole = merge(how, {});
  expect(whole.error).toBe("");
  const after = stateOf();
  expect(after).not.toEqual(before);
  expect(after).toMatchObject({ status: before.status, left: [] });
  const journal = whole.steps.findIndex((line) => / symlink .*threadmux-index/.test(line));
  expect(journal).toBeGreaterThan(0);
  const found = { old: 0, new: 0 };
  for (let at = inFull(1, journal - 1); at <= whole.steps.length; at += inFull(1, 3)) {
    for (const side of inFull(["before", "after"], [at % 2 === 0 ? "before" : "after"])) {
      renew();
      const killed = merge(how, { KILL_AT: String(at), KILL_SIDE: side });
      expect(killed.signal, `${killed.error}${whole.steps[at - 1]}`).toBe("SIGKILL");
      await recover();
      const state = stateOf();
      const where = `${side} ${whole.steps[at - 1]}`;
      const isNew = state.refs === after.refs;
      expect(state, where).toEqual(isNew ? after : before);
      found[isNew ? "new" : "old"]++;
    }
  }
  expect(found.old).toBeGreaterThan(0);
  expect(found.new).toBeGreaterThan(0);
});
