/** Each sandbox that this machine can make, as root and as somebody else, and what is tried in it. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { BOX_FAILED, type Box, boxCommand, prepareBox } from "./box.ts";
import { formsFor, parseSandbox, sandboxText } from "./modes.ts";
import { findSecretPlaces } from "./secrets.ts";

const NOBODY = 65_534;
const SECRET = "kumquat-7f3a";
const KEY = "walnut-2c9e";
const isRoot = process.getuid?.() === 0;
const users = isRoot ? [0, NOBODY] : [process.getuid?.() ?? 0];
const cases = users.flatMap((uid) => formsFor(uid).map((form) => ({ uid, form })));

let root: ReturnType<typeof makeFolder>;
let state: string;
let thread: string;
let worktree: string;
let home: string;

beforeAll(() => {
  root = makeFolder();
  if (isRoot) chmodSync(dirname(root.path), 0o711);
  state = join(root.path, "st ate#\\x");
  thread = join(state, "threads", "t");
  worktree = join(state, "worktrees", "t");
  home = join(root.path, "home");
  const put = (path: string, text = SECRET) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  for (const name of ["token", "threads/other/inbox.jsonl", "worktrees/other/file"]) put(join(state, name));
  for (const name of [".ssh/id_rsa", ".aws/credentials", ".netrc"]) put(join(home, name), KEY);
  put(join(thread, "thread.json"));
  put(join(thread, "settings.json"), "settings");
  put(join(thread, "attachments", "a b.txt"), "attached");
  put(join(worktree, "sub", "x"), "work");
  symlinkSync(state, join(worktree, "docs"));
  symlinkSync(join(home, ".ssh"), join(worktree, "keys"));
  symlinkSync(join(home, ".netrc"), join(worktree, "netrc"));
});
afterAll(() => root.remove());

function boxFor({ uid, form }: (typeof cases)[number], hides: boolean): Box {
  return {
    ...{ form, uid, gid: uid === 0 ? 0 : uid, stateDir: state, room: join(thread, `box-${form}-${uid}`) },
    shown: [
      { path: join(thread, "attachments"), isFolder: true },
      { path: join(thread, "settings.json"), isFolder: false },
      { path: worktree, isFolder: true, isWritable: true },
    ],
    hidden: hides ? findSecretPlaces(home) : [],
    dir: worktree,
  };
}

/** What a shell in the sandbox prints. */
function run(
  which: (typeof cases)[number],
  script: string,
  { hides = false, dir = worktree, args = [] as string[] } = {},
) {
  const box = { ...boxFor(which, hides), dir };
  prepareBox(box);
  if (which.uid !== process.getuid?.()) give(root.path, which.uid);
  const { program, args: all } = boxCommand(box, "/bin/bash", ["-c", script, "bash", ...args]);
  const { uid } = which;
  const own = isRoot ? { uid, gid: uid } : {};
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, STATE: state, LC_ALL: "C" };
  const done = spawnSync(program, all, { ...own, cwd: "/", env, encoding: "utf8", timeout: 20_000 });
  if (isRoot && uid !== 0) give(root.path, 0);
  return done;
}

function give(path: string, uid: number): void {
  spawnSync("chown", ["-Rh", `${uid}:${uid}`, path]);
}

/** In words for whoever reads a log of the tests. */
const refused = cases.filter((one) => run1(one) !== undefined);
function run1(which: (typeof cases)[number]): string | undefined {
  const { uid } = which;
  const own = isRoot ? { uid, gid: uid } : {};
  const plain =
    which.form === "bwrap"
      ? ["--bind", "/", "/", "--unshare-pid", "true"]
      : ["-Urm", "--propagation", "private", "true"];
  const { status, stderr, error } = spawnSync(which.form, plain, { ...own, cwd: "/", encoding: "utf8" });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}

test("the forms that this machine was asked for, and those that it refuses", () => {
  for (const one of cases) console.log(`sandbox ${one.form} as uid ${one.uid}: ${run1(one) ?? "is tested"}`);
  // Where nothing keeps the tests from it, at least one is tested.
  if (process.env["CI"]) expect(refused.length).toBeLessThan(cases.length);
});

for (const which of cases.filter((one) => !refused.includes(one))) {
  describe(`${which.form} as ${which.uid === 0 ? "root" : "somebody else"}`, () => {
    // Promise: S17
    test("the state folder is out of sight, whatever leads there", () => {
      const tries = [
        'cat "$STATE/token"',
        "cat docs/token",
        "grep -R kumquat .",
        "grep -R kumquat docs/",
        "cat docs/threads/other/* docs/threads/t/* docs/worktrees/other/*",
        'cd ..; cat ../token; ls; cat other/file; cat "$PWD"/../token',
        'cat /proc/self/cwd/../../token /proc/1/cwd/../../token /proc/$PPID/root/"$STATE"/token',
        'umount "$STATE"; umount -l "$STATE"; cat "$STATE/token"',
        'unshare -Urm sh -c \'umount -l "$STATE"; cat "$STATE/token"\'',
        'unshare -m sh -c \'umount -l "$STATE"; cat "$STATE/token"\'',
        'mount --bind / /mnt && cat "/mnt$STATE/token"',
        'for p in /proc/[0-9]*; do cat "$p/root$STATE/token"; done',
        "mknod /tmp/disk-of-a-test b 254 0 && cat /tmp/disk-of-a-test | head -c 1",
      ];
      expect(spawnSync("cat", ["docs/token"], { cwd: worktree, encoding: "utf8" }).stdout).toBe(SECRET);
      for (const one of tries) {
        const { stdout, stderr, error } = run(which, `${one}\necho END`);
        const isSeen = stdout.includes(SECRET) || stderr.includes(SECRET);
        expect([one, error, isSeen, stdout.endsWith("END\n")]).toEqual([one, undefined, false, true]);
      }
    });

    test("what the agent needs is there: its attachments to be read, its worktree to work in", () => {
      const script = `cat "$STATE/threads/t/attachments/a b.txt" "$STATE/threads/t/settings.json" sub/x; pwd; id -u
        echo new > sub/new; echo "$1"; ls "$STATE"; ls "$STATE/threads/t" "$STATE/worktrees"`;
      const { stdout, stderr, status } = run(which, script, { args: ["an  argument\n\"'$"] });
      expect([stderr, status]).toEqual(["", 0]);
      expect(stdout.split("\n")).toEqual(
        `attachedsettingswork${worktree}\n${which.uid}\nan  argument\n"'$\nthreads\nworktrees\n${state}/threads/t:\nattachments\nsettings.json\n\n${state}/worktrees:\nt\n`.split(
          "\n",
        ),
      );
      expect(readFileSync(join(worktree, "sub", "new"), "utf8")).toBe("new\n");
      for (const path of ["threads/t/attachments/x", "threads/t/settings.json", "x", "threads/x"]) {
        const { status } = run(which, `echo x > "$STATE/${path}"`);
        expect([path, status]).toEqual([path, 1]);
      }
    });

    test("exit codes and the program's input are as without one", () => {
      expect(run(which, "exit 7").status).toBe(7);
      const { status, signal } = run(which, "kill -9 $$");
      expect(which.form === "bwrap" ? status : signal).toBe(which.form === "bwrap" ? 137 : "SIGKILL");
    });

    test("a directory that has become a link to elsewhere is not entered", () => {
      const swapped = join(worktree, "swapped");
      symlinkSync("/etc", swapped);
      const { status, stdout } = run(which, "echo ran", { dir: swapped });
      spawnSync("rm", [swapped]);
      expect([status, stdout]).toEqual([BOX_FAILED, ""]);
    });

    // Promise: S17
    test("places of secrets are empty only if they are to be hidden", () => {
      const script = "cat keys/id_rsa ~/.aws/credentials netrc; cat netrc && grep -R walnut ~; ls keys";
      expect(run(which, script).stdout).toContain(KEY);
      const { stdout, stderr } = run(which, script, { hides: true });
      expect([stdout.includes(KEY), stderr.includes(KEY)]).toEqual([false, false]);
      expect(run(which, "cat ~/.netrc && ls ~/.ssh && ls ~/.aws", { hides: true })).toMatchObject({
        status: 0,
        stdout: "",
      });
    });

    // Promise: S17
    test.runIf(which.uid === 0)("root can't reach other processes, nor write what the kernel obeys", () => {
      const script = `kill -0 ${process.pid} && echo REACHED; echo x > /proc/sys/kernel/core_pattern && echo WRITTEN
        find /sys/fs/cgroup -name release_agent -o -name cgroup.procs | while read f; do [ -w "$f" ] && echo "$f" && break; done`;
      expect(run(which, script).stdout).toBe("");
    });
  });
}

test("a runner is told what there is", () => {
  const one = {
    mode: "workspace" as const,
    form: "bwrap" as const,
    reposDir: "/r",
    reads: ["/a b"],
    writes: [],
  };
  expect(parseSandbox(sandboxText(one))).toEqual(one);
  expect(parseSandbox(undefined)).toBeUndefined();
  for (const text of ["", "off", "{}", '{"mode":"off","form":"bwrap"}'])
    expect(() => parseSandbox(text)).toThrow();
});
