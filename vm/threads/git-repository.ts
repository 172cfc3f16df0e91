/**
 * What a directory is to git: its branch, and whether anything is changed. Anybody may have made the repository, and
 * nothing that it names is run: no filter, monitor, hook, pager, alias or remote helper, no submodule's either.
 *
 * That holds because git never reads the repository's settings. It gets a git directory of our own, with settings of
 * our own and links to the parts of the repository that are data: index, objects and refs. Without settings,
 * attributes name filters that do not exist. The person's and the machine's settings are left out too: a filter
 * that they define (such as git-lfs) would read the repository's settings by itself.
 */
import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { mkdtemp, open, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export interface Repository {
  /** The directory where its files are. */
  path: string;
  /** Of this worktree: HEAD and index. */
  gitDir: string;
  /** Of all its worktrees: objects and refs. */
  commonDir: string;
  /** The text of HEAD. */
  head: string;
  /** The branch, or the first digits of the commit. */
  branch: string;
}

/** The longest path that Linux takes: more is in no file that git wrote. */
const MAX_POINTER_BYTES = 4_096;
/** An index of half a million files. */
const MAX_INDEX_BYTES = 64 * 1024 * 1024;

/** Reads .git itself, no process is spawned; a worktree's .git is a file that names the real folder. */
export async function findRepository(path: string): Promise<Repository | undefined> {
  try {
    let gitDir = join(path, ".git");
    if ((await stat(gitDir)).isFile()) {
      gitDir = resolve(path, (await readPointer(gitDir)).replace(/^gitdir: /, ""));
    }
    const head = await readPointer(join(gitDir, "HEAD"));
    const commit = /^[0-9a-f]{40,64}$/.exec(head)?.[0].slice(0, 8);
    const branch = /^ref: refs\/heads\/(.+)$/.exec(head)?.[1] ?? commit;
    // `.invalid` stands in HEAD where refs are kept in a format that is not files.
    if (branch === undefined || branch === ".invalid") return undefined;
    return { path, gitDir, commonDir: await findCommonDir(gitDir), head, branch };
  } catch {
    return undefined; // not a git directory
  }
}

/**
 * Whether anything is changed, staged or untracked; undefined where that can't be told, or `signal` fired before.
 * @param env `PATH` and `HOME` of it are used.
 */
export async function findDirty(
  repository: Repository,
  { env, signal }: { env: Record<string, string>; signal: AbortSignal },
): Promise<boolean | undefined> {
  if (signal.aborted) return undefined;
  const dir = await mkdtemp(join(tmpdir(), "threadmux-git-"));
  try {
    await linkData(repository, dir);
    return await runStatus({ dir, worktree: repository.path, env, signal });
  } catch {
    return undefined; // something of it is missing, or is no file of git's
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function findCommonDir(gitDir: string): Promise<string> {
  try {
    return resolve(gitDir, await readPointer(join(gitDir, "commondir")));
  } catch {
    return gitDir; // only a linked worktree has that file
  }
}

async function linkData({ gitDir, commonDir, head }: Repository, dir: string): Promise<void> {
  const index = await stat(join(gitDir, "index")).catch(() => undefined); // nothing was ever added
  if (index && (!index.isFile() || index.size > MAX_INDEX_BYTES)) throw new Error("no index of git's");
  const links = new Map(
    ["objects", "refs", "packed-refs", "info"].map((name) => [name, join(commonDir, name)]),
  );
  for (const name of await readdir(gitDir)) {
    // A split index is in two files.
    if (name === "index" || /^sharedindex\.[0-9a-f]+$/.test(name)) links.set(name, join(gitDir, name));
  }
  await Promise.all([
    writeFile(join(dir, "HEAD"), `${head}\n`),
    writeFile(join(dir, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
    ...[...links].map(([name, target]) => symlink(target, join(dir, name))),
  ]);
}

interface StatusOptions {
  /** The git directory of our own. */
  dir: string;
  worktree: string;
  env: Record<string, string>;
  signal: AbortSignal;
}

/** git in a process group of its own, which is killed as soon as the answer is known or nobody waits for it. */
function runStatus({ dir, worktree, env, signal }: StatusOptions): Promise<boolean | undefined> {
  const home = env["HOME"] ?? "/";
  const child = spawn(
    "git",
    [
      ...["-c", `core.excludesFile=${join(home, ".config/git/ignore")}`],
      ...["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"],
      ...["--no-optional-locks", "--no-replace-objects", "--no-pager", "status"],
      ...["--porcelain", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"],
    ],
    {
      // A relative entry of PATH must not lead into the repository.
      cwd: dir,
      env: {
        PATH: env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
        HOME: dir,
        LC_ALL: "C",
        GIT_DIR: dir,
        GIT_WORK_TREE: worktree,
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_CONFIG_GLOBAL: "/dev/null",
        GIT_ATTR_NOSYSTEM: "1",
        GIT_TERMINAL_PROMPT: "0",
      },
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  return new Promise((resolve) => {
    let isDirty: true | undefined;
    const kill = () => {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        process.kill(-child.pid, "SIGKILL");
      }
    };
    signal.addEventListener("abort", kill, { once: true });
    child.stdout.once("data", () => {
      isDirty = true;
      kill();
    });
    child.once("error", () => undefined); // no git here: `close` follows
    child.once("close", (code) => {
      signal.removeEventListener("abort", kill);
      resolve(isDirty ?? (code === 0 ? false : undefined));
    });
  });
}

/**
 * One of git's one-line files. Anybody may have made it: a FIFO would hold the thread that opens it for ever, and
 * four of them all work on files; a device would never end.
 */
async function readPointer(file: string): Promise<string> {
  if (!(await stat(file)).isFile()) throw new Error(`${file} is not a file`);
  // It may have become a FIFO since.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await handle.stat()).isFile()) throw new Error(`${file} is not a file`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_POINTER_BYTES), 0, MAX_POINTER_BYTES, 0);
    return buffer.toString("utf8", 0, bytesRead).trim();
  } finally {
    await handle.close();
  }
}
