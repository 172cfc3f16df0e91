/** STATE_DIR that is mounted in a second place: no look at a folder takes it for something else there. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claudeEngine } from "../../agent/engines/claude/claude.ts";
import { lookAround } from "../../agent/engines/claude/look-around.ts";
import { SETTINGS_FILE } from "../../agent/engines/claude/settings.ts";
import { inSandbox } from "../../agent/process/sandbox.ts";
import { config, launch } from "../../agent/testing/thread.ts";
import { emptyFold } from "../../shared/agent/fold.ts";
import { STATE_FOLDER } from "../../shared/agent/markers.ts";
import { WorkTree } from "../../shared/git/work-tree.ts";
import { findOtherNames } from "../../shared/sandbox/other-names.ts";
import { findSandbox } from "../../vm/agents/sandbox.ts";
import { openBelow } from "../../vm/mcp/send-file.ts";
import { makeReposDir } from "../../vm/state-dir.ts";
import { ThreadFiles } from "../../vm/threads/thread-files.ts";
import { makeFolder } from "../support/folders.ts";

const env = { PATH: process.env["PATH"] ?? "", HOME: "/root" };

// Only root mounts. For everybody else the names are read from a text (shared/sandbox/other-names.test.ts).
describe.runIf(process.getuid?.() === 0)("a state folder with a second name", () => {
  let root: ReturnType<typeof makeFolder>;
  let state: string;
  let repos: string;
  let other: string;
  let isMounted = false;

  beforeAll(() => {
    root = makeFolder();
    const path = realpathSync(root.path);
    [state, repos] = [join(path, "state"), join(path, "repos")];
    other = join(repos, "shop", "o ther");
    for (const folder of [join(state, "threads", "t"), other]) mkdirSync(folder, { recursive: true });
    chmodSync(state, 0o700);
    writeFileSync(join(state, "token"), "kumquat");
    spawnSync("git", ["init", "-q"], { cwd: join(repos, "shop") });
    isMounted = spawnSync("mount", ["--bind", state, other]).status === 0;
  });
  afterAll(() => {
    if (isMounted) spawnSync("umount", ["-l", other]);
    root.remove();
  });
  const needsMount = (skip: (is: boolean, why: string) => void) =>
    skip(!isMounted, "the machine refuses the mount");

  test("is found by the names that the system tells", ({ skip }) => {
    needsMount(skip);
    expect(findOtherNames(state)).toEqual([{ path: other, isFolder: true }]);
    expect(findOtherNames(join(state, "token"))).toEqual([{ path: join(other, "token"), isFolder: false }]);
  });

  // Promise: S18
  test("is refused at the start if that name is in REPOS_DIR, or the other way round", ({ skip }) => {
    needsMount(skip);
    expect(() => makeReposDir(repos, state)).toThrow("STATE_DIR: must not be in REPOS_DIR");
    mkdirSync(join(state, "repos"));
    expect(() => makeReposDir(join(other, "repos"), state)).toThrow("REPOS_DIR: must not be in STATE_DIR");
    expect(makeReposDir(join(repos, "..", "elsewhere"), state)).toBe(join(repos, "..", "elsewhere"));
  });

  // Promise: S17
  test.for(["state", "secrets", "workspace"] as const)(
    "is out of sight in the sandbox: %s",
    async (mode, { skip }) => {
      needsMount(skip);
      const found = await findSandbox(mode, state, env, { reposDir: repos });
      if (found.health.problem !== null) skip(found.health.problem);
      if (!found.sandbox) throw new Error("no sandbox");
      const dir = join(repos, "shop");
      const command = {
        program: "/bin/sh",
        args: ["-c", 'cat "o ther/token"; ls -A "o ther"; echo END'],
        env,
        cwd: dir,
      };
      const kept = {
        sandbox: found.sandbox,
        stateDir: state,
        folder: join(state, "threads", "t"),
        files: [],
      };
      const { program, args } = inSandbox(command, kept);
      expect(spawnSync(program, args, { cwd: dir, env, encoding: "utf8" }).stdout).toBe("END\n");
    },
  );

  // Promise: S6
  test("takes no thread there, also if it was mounted after the start", ({ skip }) => {
    needsMount(skip);
    const files = new ThreadFiles(state);
    for (const path of [other, join(other, "threads")]) expect(files.isShownIn(path)).toBe(true);
    for (const path of [repos, join(repos, "shop"), `${other}s`]) expect(files.isShownIn(path)).toBe(false);
  });

  // Promise: S12
  test("is refused to claude's own tools there too, also without a sandbox", ({ skip }) => {
    needsMount(skip);
    const withState = { ...config, launch: { ...config.launch, stateDir: state } };
    const { files = {} } = claudeEngine("claude").plan({
      ...{ config: withState, launch, fold: emptyFold(), env: { HOME: "/none" }, folder: root.path },
    });
    const { deny } = JSON.parse(files[SETTINGS_FILE] ?? "{}").permissions;
    expect(deny).toEqual(expect.arrayContaining([`Read(/${other}/**)`, `Edit(/${other}/**)`]));
  });

  test("is no part of what send_file sends, the trust question shows or a turn keeps", async ({ skip }) => {
    needsMount(skip);
    const dir = join(repos, "shop");
    await expect(openBelow(dir, "o ther/token", state)).rejects.toThrow("it belongs to threadmux itself");
    symlinkSync("o ther", join(dir, "docs"));
    mkdirSync(join(state, "worktrees", "x", ".claude", "skills"), { recursive: true });
    writeFileSync(join(state, "worktrees", "x", ".claude", "skills", "secret.md"), "x");
    const look = await lookAround(dir, { HOME: "/none", [STATE_FOLDER]: state });
    expect(look?.items.map(({ text }) => text)).toEqual(["docs: a link to threadmux's state folder"]);
    const own = join(state, "threads", "t", "git");
    await expect(WorkTree.open(dir, own, env)).rejects.toThrow("holds the folder of threadmux itself");
  });
});
