import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSidecar, type TestSidecar } from "./support/sidecar.ts";
import { openTerminal } from "./support/threads.ts";
import { until } from "./support/wait.ts";

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

test("git directories come with their branch and whether anything is changed", async () => {
  const repos = await sidecar.client.listRepos();
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

test("FIFOs, devices and endless files where git's should be stop nobody", { timeout: 10_000 }, async () => {
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

test("what a repository's settings make git run sees no secret of the sidecar", async () => {
  folder("filtered");
  git("filtered", "init", "-q");
  const seen = join(sidecar.folders.path, "seen");
  git("filtered", "config", "filter.spy.clean", `env > ${seen}; cat`);
  file("filtered/.gitattributes", "* filter=spy\n");
  file("filtered/file", "1");
  git("filtered", "add", "."); // runs it once, from here
  renameSync(seen, `${seen}-before`);
  file("filtered/file", "2"); // as long as before: only its content says that it has changed
  process.env["SECRET_OF_THE_SIDECAR"] = "s3cret";
  try {
    // A `git status` that takes too long is given up.
    await until(
      "git to run the filter",
      async () => (await dirs("filtered")).length === 1 && existsSync(seen),
    );
  } finally {
    delete process.env["SECRET_OF_THE_SIDECAR"];
  }
  expect(execFileSync("cat", [seen], { encoding: "utf8" })).not.toContain("s3cret");
});

test("at most 25, also of very many; directories behind a thousand files are found", async () => {
  folder("many");
  for (let i = 0; i < 1_000; i++) file(`many/a-file-${String(i).padStart(4, "0")}`);
  for (let i = 0; i < 600; i++) folder(`many/dir-${String(i).padStart(3, "0")}`);
  const startedAt = Date.now();
  const found = await dirs("many/");
  expect(found).toHaveLength(25);
  expect(found[0]).toBe("many/dir-000");
  expect(await dirs("many/dir-599")).toEqual(["many/dir-599"]);
  expect(Date.now() - startedAt).toBeLessThan(3_000);
});
