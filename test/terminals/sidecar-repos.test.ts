import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cpuMsOf } from "../support/measure.ts";
import { findProcessesOf } from "../support/processes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal } from "../support/threads.ts";
import { until, untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;

const git = (dir: string, ...args: string[]) =>
  execFileSync(
    "git",
    ["-C", join(sidecar.reposDir, dir), "-c", "user.name=t", "-c", "user.email=t@t", ...args],
    {
      stdio: "ignore",
      env: { PATH: process.env["PATH"], HOME: sidecar.folders.home },
    },
  );
const folder = (name: string) => mkdirSync(join(sidecar.reposDir, name), { recursive: true });
const file = (name: string, text = "") => writeFileSync(join(sidecar.reposDir, name), text);
const dirs = async (prefix = "") => (await sidecar.client.listRepos(prefix)).map((repo) => repo.dir);

beforeAll(async () => {
  sidecar = await startSidecar();
  for (const name of [
    "app/src/deep",
    "app/node_modules/x",
    "app/.hidden",
    "apple",
    "Beta",
    "empty",
    ".config/x",
  ])
    folder(name);
  file("a-file");
  for (const name of ["app", "apple", "Beta"]) git(name, "init", "-q", "-b", `${name.toLowerCase()}/main`);
  file("app/tracked", "1");
  git("app", "add", "tracked");
  git("app", "commit", "-qm", "one");
  file("Beta/untracked");
  git("app", "worktree", "add", "-q", "../worktree", "-b", "side");
  symlinkSync("/etc", join(sidecar.reposDir, "out"));
  symlinkSync(".", join(sidecar.reposDir, "self"));
  symlinkSync("..", join(sidecar.reposDir, "app/up"));
  symlinkSync("../empty", join(sidecar.reposDir, "app/inside"));
  symlinkSync("loop", join(sidecar.reposDir, "loop"));
  symlinkSync("nowhere", join(sidecar.reposDir, "dangling"));
});
afterAll(() => sidecar.close());

test("REPOS_DIR itself, its directories, then theirs; nothing hidden, nothing that leads out or round", async () => {
  expect(await dirs()).toEqual([
    ".",
    "Beta",
    "app",
    "apple",
    "empty",
    "worktree",
    "app/inside",
    "app/src",
    "app/src/deep",
  ]);
});

test.each([
  ["ap", ["app", "apple", "app/inside", "app/src", "app/src/deep"]],
  ["AP", ["app", "apple", "app/inside", "app/src", "app/src/deep"]],
  ["app/", ["app/inside", "app/src", "app/src/deep"]],
  ["./app/s", ["app/src", "app/src/deep"]],
  ["/app/s", ["app/src", "app/src/deep"]],
  ["app/src", ["app/src", "app/src/deep"]],
  ["beta", ["Beta"]],
  [".", [".", ".config", "Beta", "app", "apple"]],
  [".c", [".config", ".config/x"]],
  ["app/.", ["app/.hidden", "app/inside", "app/src"]],
  ["nothing", []],
  ["a-file/", []],
  ["..", []],
  ["../", []],
  ["../../etc/", []],
  ["out/", []],
  ["app/../../", []],
  ["app\0", []],
])("%j completes to %j", async (prefix, expected) => {
  expect((await dirs(prefix)).slice(0, expected.length || undefined)).toEqual(expected);
});

/** On a busy machine git may take longer than a completion waits for it: then it is asked again. */
const untilKnown = (...changed: string[]) =>
  untilValue(
    "git to be done in time",
    () => sidecar.client.listRepos(),
    (repos) => changed.every((dir) => repos.find((repo) => repo.dir === dir)?.dirty !== undefined),
  );

test("git directories come with their branch and whether anything is changed", async () => {
  const repos = await untilKnown("app", "apple", "Beta", "worktree");
  const of = (dir: string) => repos.find((repo) => repo.dir === dir);
  expect(of("app")).toEqual({ dir: "app", branch: "app/main", dirty: true }); // the links above are new
  expect(of("apple")).toEqual({ dir: "apple", branch: "apple/main", dirty: false });
  expect(of("Beta")).toEqual({ dir: "Beta", branch: "beta/main", dirty: true });
  expect(of("worktree")).toEqual({ dir: "worktree", branch: "side", dirty: false });
  expect(of("empty")).toEqual({ dir: "empty" });
});

test("a detached HEAD is shown by its commit, a broken .git not at all", async () => {
  folder("detached");
  git("detached", "init", "-q");
  git("detached", "commit", "-q", "--allow-empty", "-m", "one");
  git("detached", "checkout", "-q", "--detach");
  folder("broken");
  file("broken/.git", "gitdir: /nowhere/at/all\n");
  const repos = await sidecar.client.listRepos();
  expect(repos.find((repo) => repo.dir === "detached")?.branch).toMatch(/^[0-9a-f]{8}$/);
  expect(repos.find((repo) => repo.dir === "broken")).toEqual({ dir: "broken" });
});

test("FIFOs, devices and endless files where git's should be stop nobody", async () => {
  const path = (name: string) => join(sidecar.reposDir, "strange", name);
  for (const name of [
    "fifo/.git",
    "fifo-for-git",
    "device/.git",
    "endless/.git",
    "long",
    "pointed",
    "target",
  ])
    folder(`strange/${name}`);
  for (const name of ["fifo/.git/HEAD", "fifo-for-git/.git", "target/HEAD"])
    execFileSync("mkfifo", [path(name)]);
  symlinkSync("/dev/zero", path("device/.git/HEAD"));
  for (const name of ["endless/.git/HEAD", "long/.git"]) {
    writeFileSync(path(name), "");
    truncateSync(path(name), 1024 ** 3);
  }
  writeFileSync(path("pointed/.git"), `gitdir: ${path("target")}\n`);
  const names = ["device", "endless", "fifo", "fifo-for-git", "long", "pointed", "target"];
  // As many at once as there are threads for work on files.
  for (const repos of await Promise.all([1, 2, 3, 4].map(() => sidecar.client.listRepos("strange/")))) {
    expect(repos.map((repo) => repo.dir)).toEqual(names.map((name) => `strange/${name}`));
    expect(repos.filter((repo) => repo.branch)).toEqual([]);
  }
  await openTerminal(sidecar.client, "after-fifos", "true");
});

describe("nothing of a repository's runs", () => {
  let ran: string;
  const spy = (name: string) => `sh ${ran}.sh ${name}`;
  const hook = (name: string) => `#!/bin/sh\ntouch ${ran}/${name.replaceAll("/", "-")}\n`;
  const executable = (name: string) =>
    writeFileSync(join(sidecar.reposDir, name), hook(name), { mode: 0o755 });
  /** All that a configuration can make git run, under its own name. */
  const hostileConfig = (name: string) => `
[filter "spy"]
\tclean = ${spy(`${name}-clean`)}
\tsmudge = ${spy(`${name}-smudge`)}
\trequired = true
[filter "long"]
\tprocess = ${spy(`${name}-process`)}
[diff "spy"]
\ttextconv = ${spy(`${name}-textconv`)}
\tcommand = ${spy(`${name}-diff`)}
[diff]
\texternal = ${spy(`${name}-external`)}
[core]
\tfsmonitor = ${spy(`${name}-fsmonitor`)}
\tuntrackedCache = true
\tpager = ${spy(`${name}-pager`)}
\teditor = ${spy(`${name}-editor`)}
\tsshCommand = ${spy(`${name}-ssh`)}
\talternateRefsCommand = ${spy(`${name}-alternates`)}
[pager]
\tstatus = ${spy(`${name}-pager-status`)}
[alias]
\tstatus = !${spy(`${name}-alias`)}
[gpg]
\tprogram = ${spy(`${name}-gpg`)}
[log]
\tshowSignature = true
[credential]
\thelper = !${spy(`${name}-credential`)}
[status]
\tsubmoduleSummary = true
[protocol "ext"]
\tallow = always
[remote "origin"]
\turl = ext::sh -c touch% ${ran}/${name}-remote
\tpromisor = true
\tpartialclonefilter = blob:none
`;
  const addTo = (name: string, config: string) => appendFileSync(join(sidecar.reposDir, name), config);

  /** Two files whose content alone says that they have changed, one that has a filter of each kind. */
  function makeRepository(name: string): void {
    folder(name);
    git(name, "init", "-q", "-b", "main");
    file(`${name}/.gitattributes`, "*.spy filter=spy diff=spy\n*.long filter=long\n*.lfs filter=lfs\n");
    for (const ending of ["spy", "long", "lfs"]) file(`${name}/file.${ending}`, "1");
    git(name, "add", ".");
    git(name, "commit", "-qm", "one");
    for (const ending of ["spy", "long", "lfs"]) file(`${name}/file.${ending}`, "2");
  }

  beforeAll(() => {
    ran = join(sidecar.folders.path, "ran");
    mkdirSync(ran);
    writeFileSync(`${ran}.sh`, `touch "${ran}/$1"; cat`);
    for (const name of ["filters", "included", "hooked", "main-tree", "outer", "sub-source", "promised"])
      makeRepository(`hostile/${name}`);

    addTo("hostile/filters/.git/config", hostileConfig("filters"));

    addTo("hostile/included/.git/config", "[include]\n\tpath = ../more\n");
    file("hostile/included/more", hostileConfig("included"));

    for (const name of ["post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction"])
      executable(`hostile/hooked/.git/hooks/${name}`);
    addTo(
      "hostile/hooked/.git/config",
      "[core]\n\thooksPath = .git/hooks\n\tfsmonitor = .git/hooks/fsmonitor-watchman\n",
    );

    git("hostile/main-tree", "worktree", "add", "-q", "../linked", "-b", "side");
    file("hostile/linked/file.spy", "3");
    addTo(
      "hostile/main-tree/.git/config",
      `[extensions]\n\tworktreeConfig = true\n${hostileConfig("common")}`,
    );
    addTo("hostile/main-tree/.git/worktrees/linked/config.worktree", hostileConfig("worktree"));

    // Its tree is said to be another repository's.
    addTo("hostile/sub-source/.git/config", `[core]\n\tworktree = ../../filters\n${hostileConfig("moved")}`);

    git("hostile/outer", "-c", "protocol.file.allow=always", "submodule", "add", "-q", "../promised", "sub");
    git("hostile/outer", "commit", "-qam", "with a submodule");
    file("hostile/outer/sub/file.spy", "3");
    addTo("hostile/outer/.git/modules/sub/config", hostileConfig("submodule"));

    // Objects that are missing, and a remote that promises them.
    addTo(
      "hostile/promised/.git/config",
      `[extensions]\n\tpartialClone = origin\n${hostileConfig("promised")}`,
    );
    const objects = join(sidecar.reposDir, "hostile/promised/.git/objects");
    for (const name of readdirSync(objects))
      if (name.length === 2) rmSync(join(objects, name), { recursive: true });
    writeFileSync(join(sidecar.folders.home, ".gitconfig"), hostileConfig("user").replace('"spy"', '"lfs"'));
    // What git itself ran while all this was made does not count.
    for (const name of readdirSync(ran)) rmSync(join(ran, name));
  });

  // Promise: S16
  test("no filter, monitor, hook, pager, alias, included setting, remote or submodule's", async () => {
    const changed = ["filters", "included", "hooked", "linked"].map((name) => `hostile/${name}`);
    // On a busy machine git may take longer than a completion waits for it: then it is asked again.
    await until("every changed repository to be seen as changed", async () => {
      const repos = await sidecar.client.listRepos("hostile/");
      expect(readdirSync(ran)).toEqual([]);
      expect(repos.find(({ dir }) => dir === "hostile/linked")?.branch).toBe("side");
      return changed.every((dir) => repos.find((repo) => repo.dir === dir)?.dirty);
    });
  });

  // Promise: S16
  test("a git that takes too long is ended with all that it is, and so it is with its request", async () => {
    folder("endless");
    git("endless", "init", "-q", "-b", "main");
    execFileSync("mkfifo", [join(sidecar.reposDir, "endless/.gitignore")]);
    const gits = () => findProcessesOf(sidecar.folders.path).filter(({ command }) => /\bgit\b/.test(command));
    expect(await sidecar.client.listRepos("endless")).toEqual([{ dir: "endless", branch: "main" }]);
    await until("git to end", () => gits().length === 0);
    // Long before its own time is over: a look may be late, so it is done again.
    await until("git to end with its request", async () => {
      const gone = new AbortController();
      const reply = fetch(`${sidecar.url}/repos?prefix=endless`, {
        headers: { authorization: `Bearer ${sidecar.token}` },
        signal: gone.signal,
      });
      await until("git to start", () => gits().length > 0, { timeoutMs: 5_000 });
      const startedAt = performance.now();
      gone.abort();
      await expect(reply).rejects.toThrow();
      await until("git to end", () => gits().length === 0);
      return performance.now() - startedAt < 300;
    });
  });
});

test("at most 25, also of very many; directories behind a thousand files are found", async () => {
  folder("many");
  for (let i = 0; i < 1_000; i++) file(`many/a-file-${String(i).padStart(4, "0")}`);
  for (let i = 0; i < 600; i++) folder(`many/dir-${String(i).padStart(3, "0")}`);
  const found = await dirs("many/");
  expect(found).toHaveLength(25);
  expect(found[0]).toBe("many/dir-000");
  const cpuMs = await cpuMsOf(async () => {
    expect(await dirs("many/dir-599")).toEqual(["many/dir-599"]);
  });
  expect(cpuMs).toBeLessThan(10_000);
});
