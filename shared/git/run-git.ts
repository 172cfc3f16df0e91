/** Runs git on a git directory of our own. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { findOddFile } from "./odd-files.ts";

export interface GitPlace {
  /** The git directory of our own. */
  dir: string;
  worktree: string;
  /** `PATH` and `HOME` of it are used. */
  env: Readonly<Record<string, string | undefined>>;
  /** By what others know its processes. */
  marker?: Readonly<Record<string, string>>;
}

export interface GitCall {
  input?: Buffer | string;
  maxBytes?: number;
  timeoutMs?: number;
  /** In place of the git directory's own. */
  indexFile?: string;
  /** An exit code other than 0 that is an answer, and no failure. */
  alsoCode?: number;
  /** What is longer is cut, not refused. */
  isCut?: boolean;
  /** `core.name=value`, for this call. */
  settings?: readonly string[];
}

/** Git could not do it. `message` is part of a sentence for a person. */
export class GitError extends Error {
  readonly reason: "missing" | "slow" | "large" | "failed";

  constructor(reason: GitError["reason"], message: string) {
    super(message);
    this.name = "GitError";
    this.reason = reason;
  }
}

const MAX_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 20_000;
const MAX_WORDS = 300;
/** After so long it is looked for what holds git. */
const LOOK_MS = 2_000;
/**
 * The most of git's own memory. It reads a `.gitignore` of any size whole, and the files that it packs. Files that it
 * maps to read them, such as packs, do not count.
 */
const MAX_MEMORY_KB = 1024 * 1024;
const BOUNDED = `ulimit -d ${MAX_MEMORY_KB} 2>/dev/null; exec git "$@"`;
/** The shell found no git. */
const NOT_FOUND = 127;
/** Git's words if it gets no more memory. */
const NO_MEMORY = /out of memory|cannot allocate memory|mmap failed/i;

/** glibc gives memory back to the system and takes it anew for each object that git packs: half of the time. */
const MEMORY = {
  MALLOC_MMAP_THRESHOLD_: "67108864",
  MALLOC_TRIM_THRESHOLD_: "268435456",
  MALLOC_TOP_PAD_: "4194304",
};

/** In a process group of its own. Its standard error is for the caller to read, its input to end. */
export function spawnGit(
  { dir, worktree, env, marker }: GitPlace,
  args: readonly string[],
  indexFile?: string,
) {
  const home = env["HOME"] ?? "/";
  return spawn(
    "/bin/sh",
    [
      ...["-c", BOUNDED, "git"],
      ...["-c", `core.excludesFile=${join(home, ".config/git/ignore")}`],
      ...["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"],
      ...["--no-optional-locks", "--no-replace-objects", "--no-pager", ...args],
    ],
    {
      // A relative entry of PATH must not lead into the repository, and git lists what is below here if that is in it.
      cwd: "/",
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
        ...MEMORY,
        ...marker,
        ...(indexFile !== undefined && { GIT_INDEX_FILE: indexFile }),
      },
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    },
  );
}

/** Ends git and what it started. */
export function killGit(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it has just ended
  }
}

async function noMemory({ worktree, dir }: GitPlace): Promise<GitError> {
  const odd = await findOddFile(worktree, dir);
  const why = odd ? `: ${odd.path} ${odd.why}` : "";
  return new GitError("large", `git needs more than ${MAX_MEMORY_KB / 1024 / 1024} GiB of memory${why}`);
}

/** What git puts out. @throws GitError */
export function runGit(place: GitPlace, args: readonly string[], call: GitCall = {}): Promise<Buffer> {
  const { input, maxBytes = MAX_BYTES, timeoutMs = TIMEOUT_MS, indexFile, isCut = false } = call;
  const settings = (call.settings ?? []).flatMap((setting) => ["-c", setting]);
  const child = spawnGit(place, [...settings, ...args], indexFile);
  return new Promise((resolve, reject) => {
    let problem: GitError | undefined;
    let isOver = false;
    const stop = (error?: GitError) => {
      problem ??= error;
      killGit(child);
    };
    const timer = setTimeout(
      () => stop(new GitError("slow", `git needs more than ${timeoutMs / 1_000} s`)),
      timeoutMs,
    );
    const look = setTimeout(async () => {
      const odd = await findOddFile(place.worktree, place.dir);
      if (odd && !isOver) stop(new GitError("slow", `git can't read ${odd.path}, which ${odd.why}`));
    }, LOOK_MS);
    const chunks: Buffer[] = [];
    let bytes = 0;
    let words = "";
    let isFull = false;
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= maxBytes) return;
      isFull = true;
      stop(isCut ? undefined : new GitError("large", `git lists more than ${maxBytes} bytes`));
    });
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => {
      words = (words + text).slice(0, MAX_WORDS);
    });
    child.stdin.on("error", () => undefined); // it has ended before it read everything: `close` says how
    child.stdin.end(input);
    child.once("error", (error) => {
      problem ??= new GitError("failed", error.message);
    });
    child.once("close", async (code) => {
      isOver = true;
      for (const one of [timer, look]) clearTimeout(one);
      if (problem) return reject(problem);
      if (code === 0 || code === call.alsoCode || (isCut && isFull))
        return resolve(Buffer.concat(chunks).subarray(0, maxBytes));
      if (code === NOT_FOUND) return reject(new GitError("missing", "git is not installed"));
      if (NO_MEMORY.test(words)) return reject(await noMemory(place));
      reject(new GitError("failed", `git ${args[0]}: ${words.trim() || `it ended with ${code}`}`));
    });
  });
}
