/** The sandbox `workspace`, as root and as somebody else: what a thread's commands see and write, and ways out of it. */
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BOX_FAILED } from "../../shared/sandbox/box.ts";
import { makeFolder } from "../../test/support/folders.ts";
import type { Needs } from "../engine.ts";
import { inSandbox } from "./sandbox.ts";

const SECRET = "kumquat-7f3a";
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const users = isRoot ? [0, NOBODY] : [process.getuid?.() ?? 0];
const plain = ["--bind", "/", "/", "--unshare-pid", "true"];
const has = (uid: number) =>
  spawnSync("bwrap", plain, { cwd: "/", ...(isRoot && { uid, gid: uid }) }).status === 0;

let root: ReturnType<typeof makeFolder>;
const at = (...names: string[]) => join(root.path, ...names);
const put = (path: string, text = SECRET) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};
const git = (dir: string, ...args: string[]) =>
  spawnSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: dir, encoding: "utf8" });

function makeWorld(): void {
  root = makeFolder();
  if (isRoot) chmodSync(dirname(root.path), 0o711);
  for (const name of ["shop", "other"]) {
    put(at("r", name, "file"), name === "other" ? SECRET : "shop");
    git(at("r", name), "init", "-q", "-b", "main");
    git(at("r", name), "add", ".");
    git(at("r", name), "commit", "-qm", "first");
  }
  git(at("r", "shop"), "worktree", "add", "-q", "-b", "w", at("s", "worktrees", "t"));
  put(at("s", "token"));
  put(at("s", "threads", "t", "settings.json"), "settings");
  put(at("s", "threads", "other", "tmp", "x"));
  put(at("h", ".ssh", "id_rsa"));
  put(at("h", ".bash_history"));
  put(at("h", ".gitconfig"), "[user]\n\tname = Ann\n\temail = ann@example.org\n");
  put(at("h", ".tool", "settings.json"), "mine");
  put(at("h", ".tool.json"), "state");
  put(at("h", ".tool", "records", "r"), "1");
}

const needs = (): Needs => ({
  reads: [at("h", ".tool", "settings.json"), at("h", ".tool", "hooks")],
  writes: [at("h", ".tool", "records")],
  copies: [at("h", ".tool.json")],
});

function plan(uid: number, script: string, dir: string, thread = "t", PATH = "/usr/local/bin:/usr/bin:/bin") {
  const folder = at("s", "threads", thread);
  mkdirSync(folder, { recursive: true });
  const command = { program: "/bin/bash", args: ["-c", script], cwd: dir };
  const env = { PATH, HOME: at("h"), LC_ALL: "C", ROOT: root.path };
  const sandbox = {
    mode: "workspace" as const,
    form: "bwrap" as const,
    reposDir: at("r"),
    reads: [],
    writes: [],
  };
  const kept = { sandbox, stateDir: at("s"), folder, files: [join(folder, "settings.json")], needs: needs() };
  const boxed = inSandbox({ ...command, env }, kept);
  if (isRoot) spawnSync("chown", ["-Rh", `${uid}:${uid}`, root.path]);
  return { ...boxed, options: { cwd: "/", env: boxed.env, ...(isRoot && { uid, gid: uid }) } };
}

function run(uid: number, script: string, dir = at("s", "worktrees", "t"), thread = "t") {
  const { program, args, options } = plan(uid, script, dir, thread);
  const done = spawnSync(program, args, { ...options, encoding: "utf8", timeout: 20_000 });
  return done;
}

test("the users that it is tried as", () => {
  for (const uid of users) console.log(`workspace as uid ${uid}: ${has(uid) ? "is tested" : "REFUSED here"}`);
  if (process.env["CI"]) expect(users.some(has)).toBe(true);
});

for (const uid of users.filter(has)) {
  describe(`as ${uid === 0 ? "root" : "somebody else"}`, () => {
    beforeAll(makeWorld);
    afterAll(() => root.remove());

    test("a worktree can be worked and committed in, and the thread's own places be written", () => {
      const script = `set -e; echo new > made; git add .; git commit -qm second; git log --format=%an -1
        git checkout -q -b more; git stash list; echo x > /tmp/x; echo x > "$TMPDIR/y"; echo x > ~/z; mkdir -p ~/.npm
        cat "$ROOT/s/threads/t/settings.json" ~/.tool/settings.json ~/.tool.json; echo 2 > ~/.tool/records/r; ls /tmp`;
      const { stdout, stderr, status } = run(uid, script);
      expect([stderr, status, stdout]).toEqual(["", 0, expect.stringContaining("Ann\nsettingsminestate")]);
      expect(readFileSync(at("h", ".tool", "records", "r"), "utf8")).toBe("2\n");
      expect(existsSync(at("h", "z"))).toBe(false);
      expect(run(uid, "cat /tmp/x ~/z").stdout).toBe("x\nx\n");
      expect(run(uid, "cat /tmp/x ~/z", at("r", "shop"), "other-thread").stdout).toBe("");
    });

    test("a repository's own directory too, also from a folder in it", () => {
      mkdirSync(at("r", "shop", "sub"), { recursive: true });
      const script =
        "pwd; git rev-parse --show-toplevel; git commit -qm again --allow-empty && echo DONE; ls ..";
      const { stdout } = run(uid, script, at("r", "shop", "sub"));
      expect(stdout).toBe(`${at("r", "shop", "sub")}\n${at("r", "shop")}\nDONE\nfile\nsub\n`);
    });

    // Promise: S17
    test("nothing else can be read", () => {
      const tries = [
        'cat "$ROOT/r/other/file" "$ROOT/s/token" ~/.ssh/id_rsa ~/.bash_history',
        'grep -Rs kumquat "$ROOT"; ls -R "$ROOT" | grep -E "other|token|history" && echo kumquat-7f3a',
        'cat "$ROOT"/s/threads/*/tmp/x "$ROOT"/s/tmux.sock',
        'for p in /proc/[0-9]*; do cat "$p/root$ROOT/s/token" "$p/cwd/../../token"; done',
        'umount -l "$ROOT/s"; umount -l "$ROOT/r"; umount "$ROOT/h"; cat "$ROOT/s/token" "$ROOT/r/other/file"',
        'unshare -Urm sh -c \'umount -l "$ROOT/r"; mount --bind / /srv; cat "/srv$ROOT/r/other/file" "$ROOT/s/token"\'',
        'git -C "$ROOT/r/other" show HEAD:file; git --git-dir="$ROOT/r/other/.git" show HEAD:file',
        'ln -s "$ROOT/r/other" l; cat l/file; ln "$ROOT/r/other/file" hard; cat hard; rm -f l hard',
        "find /run /home /root -mindepth 1 | grep -v resolv && echo kumquat-7f3a",
      ];
      for (const one of tries) {
        const { stdout, error } = run(uid, `{ ${one}\n} 2>&1; echo END`);
        expect([one, error, stdout.includes(SECRET), stdout.endsWith("END\n")]).toEqual([
          one,
          undefined,
          false,
          true,
        ]);
      }
    });

    test("nothing else can be written: the system, the repository's settings and hooks, what a person has set up", () => {
      const paths = [
        ...[
          "/etc/x",
          "/usr/x",
          "/var/x",
          "/opt/x",
          "/x",
          "/run/x",
          "/home/x",
          "/proc/sys/kernel/core_pattern",
        ],
        ...["$ROOT/r/x", "$ROOT/s/x", "$ROOT/s/threads/t/settings.json", "$HOME/.tool/settings.json"],
        ...[
          "$ROOT/r/shop/x",
          "$ROOT/r/shop/.git/config",
          "$ROOT/r/shop/.git/hooks/pre-commit",
          "$HOME/.gitconfig",
        ],
      ];
      const all = paths.map((path) => `{ echo x >> "${path}" && echo "WRITTEN ${path}"; } 2>/dev/null;`);
      expect(run(uid, `${all.join("\n")} echo END`).stdout).toBe("END\n");
      expect(
        run(uid, 'mv "$PWD" "$PWD.away" 2>/dev/null; rmdir "$ROOT/r/shop/.git/refs" 2>/dev/null; echo END')
          .stdout,
      ).toBe("END\n");
      run(
        uid,
        "echo x > ~/.tool.json; echo x > ~/.bashrc; mkdir ~/.tool/hooks; echo x > ~/.tool/hooks/start",
      );
      expect(run(uid, "cat ~/.tool.json; ls ~/.tool").stdout).toBe("staterecords\nsettings.json\n");
      expect(existsSync(at("h", ".bashrc"))).toBe(false);
    });

    // Promise: S17
    test("a worktree can't be made to bring settings or hooks that git would run for a person there", () => {
      git(at("r", "shop"), "config", "extensions.worktreeConfig", "true");
      const evil = `[core]\n\tfsmonitor = touch ${at("ran")}; false\n`;
      const script = `g=$(git rev-parse --absolute-git-dir); mkdir -p evil; printf '%s' "$EVIL" > evil/config
        cp -r "$g/../.." copy; printf '%s' "$EVIL" >> copy/config
        for f in .git "$g/commondir" "$g/gitdir" "$g/config.worktree"; do
          for to in "gitdir: $PWD/copy" "$PWD/copy" "$EVIL"; do echo "$to" > "$f"; done
          mv "$f" "$f.away"; rm -f "$f"; ln -sf "$PWD/copy" "$f"; mv -T evil/config "$f"
        done 2>/dev/null
        mv "$g" "$g.away" 2>/dev/null; rm -rf copy evil; git add -A; git commit -qm third --allow-empty && echo DONE`;
      const { stdout } = run(uid, `EVIL='${evil}'; ${script}`);
      expect(stdout).toBe("DONE\n");
      const tree = at("s", "worktrees", "t");
      const seen = spawnSync("git", ["-c", "safe.directory=*", "-C", tree, "status", "--short"], {
        encoding: "utf8",
      });
      expect([seen.status, seen.stderr, existsSync(at("ran"))]).toEqual([0, "", false]);
    });

    test("no other process is seen or ended", () => {
      const other = spawn("sleep", ["60"], { env: { SECRET } });
      const { stdout } = run(
        uid,
        `kill -0 ${other.pid} && echo REACHED; cat /proc/*/environ; ps ax 2>/dev/null | wc -l`,
      );
      other.kill();
      expect(stdout).not.toMatch(/REACHED|kumquat/);
    });

    // Promise: S17
    test("what git did not write is no way to another repository", () => {
      const evil = at("r", "evil");
      for (const text of [
        `gitdir: ${at("r", "other", ".git")}\n`,
        `gitdir: ${at("r", "shop", ".git", "worktrees", "t")}\n`,
        `gitdir: ${at("h")}\n`,
      ]) {
        put(join(evil, ".git"), text);
        const { stdout } = run(uid, 'ls -A "$ROOT/r"; git log', evil, "e");
        expect([text, stdout]).toEqual([text, "evil\n"]);
      }
      rmSync(join(evil, ".git"));
      symlinkSync(at("r", "other", ".git"), join(evil, ".git"));
      expect(run(uid, 'ls -A "$ROOT/r"; git log', evil, "e").stdout).toBe("evil\n");
      rmSync(evil, { recursive: true });
    });

    test("links that the agent leaves in its own home lead the next start nowhere", () => {
      const target = at("r", "other");
      run(uid, `rm -rf ~/.tool; ln -s /oldroot${target} ~/.tool; ln -s ${target} ~/.config; mkdir -p /tmp/a`);
      expect(run(uid, "cat ~/.tool/settings.json; cat ~/.tool/file ~/.config/file").stdout).toBe("mine");
      // Also if nothing was mounted there when it left them.
      mkdirSync(at("s", "threads", "l", "home"), { recursive: true });
      symlinkSync(`/oldroot${target}`, at("s", "threads", "l", "home", ".tool"));
      symlinkSync(target, at("s", "threads", "l", "home", ".tool.json"));
      expect(run(uid, "cat ~/.tool/settings.json ~/.tool.json", at("r", "shop"), "l").stdout).toBe(
        "minestate",
      );
      expect(spawnSync("ls", ["-A", target], { encoding: "utf8" }).stdout).toBe(".git\nfile\n");
    });

    test("a directory that was swapped for another one since it was looked at is not entered", () => {
      put(at("r", "swapped", "f"), "mine");
      const { program, args, options } = plan(uid, "cat f file", at("r", "swapped"), "sw");
      rmSync(at("r", "swapped"), { recursive: true });
      symlinkSync(at("r", "other"), at("r", "swapped"));
      const { status, stdout } = spawnSync(program, args, { ...options, encoding: "utf8" });
      rmSync(at("r", "swapped"));
      expect([status, stdout]).toEqual([BOX_FAILED, ""]);
    });

    test("a socket in a hidden place can't be reached", async () => {
      const server = createServer((socket) => socket.end(SECRET));
      await new Promise<void>((resolve) => server.listen(at("s", "tmux.sock"), resolve));
      try {
        chmodSync(at("s", "tmux.sock"), 0o777);
        const script = 'tmux -S "$ROOT/s/tmux.sock" ls; ls "$ROOT/s/tmux.sock" 2>/dev/null; echo END';
        expect(run(uid, script).stdout).toBe("END\n");
      } finally {
        await new Promise((resolve) => server.close(resolve));
      }
    });
  });
}
