/** Before an agent begins in a worktree of its own: the worktree is made, and the person's command is run in it. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { lstat, mkdir, rm, rmdir } from "node:fs/promises";
import { join, relative } from "node:path";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { errorText } from "../../shared/errors.ts";
import { makeWorktree } from "../../shared/git/worktree.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Env } from "../engine.ts";
import { inDirectory } from "../process/directory.ts";
import { killMarked } from "../process/orphans.ts";
import type { Command } from "../process/sandbox.ts";

const MADE = "setup-worktree";
const COMMAND = "setup-command";
/** Lies in the thread's folder while the worktree is made. */
const OWN = "git-worktree";
const COMMAND_MS = 15 * 60_000;
const MAX_WORDS = 2_000;
const LOOK_MS = 200;
/** The command is in a variable: arguments are in the list of processes, which everybody on the machine can read. */
const COMMAND_VARIABLE = "THREADMUX_SETUP";
const RUN_COMMAND = `eval "unset ${COMMAND_VARIABLE}\n$${COMMAND_VARIABLE}"`;

export interface WorkspaceOptions {
  folder: string;
  config: ThreadConfig;
  /** The engine's environment: processes that a command starts are found by its marker. */
  env: Env;
  /** How a command is started: in the sandbox, if there is one. */
  keep: (command: Command) => Command;
  append: (bodies: EventBody[]) => void;
  /** Whether a person wants it to go no further. Asked again and again while the command runs. */
  isStopped: () => boolean;
}

/** Its exit code, null if it was ended; and the last that it printed. */
type Ending = { code: number | null; words: string };
type Worktree = NonNullable<ThreadConfig["worktree"]>;

/** What is to be done before anything is looked at there. @returns whether something was done */
export async function makeWorkspace(
  { folder, config, env, append }: WorkspaceOptions,
  fold: ThreadFold,
): Promise<boolean> {
  const { worktree, threadId } = config;
  if (!worktree || isDone(fold, MADE)) return false;
  append([startOf(MADE, `Making a worktree on ${worktree.branch}`)]);
  const since = Date.now();
  const own = join(folder, OWN);
  await rm(own, { recursive: true, force: true }); // a runner that was killed here has left it
  await mkdir(own, { mode: 0o700 });
  try {
    const { commit } = await makeWorktree({ ...worktree, name: threadId }, own, env);
    await makeBelow(worktree.path, config.dir);
    const description = describe(worktree, commit);
    append([
      endOf(MADE, "completed", since),
      { type: "notice", severity: "info", title: `Works on the branch ${worktree.branch}`, description },
    ]);
  } catch (error) {
    const message = `The worktree could not be made: ${errorText(error)}.`;
    await rmdir(worktree.path).catch(() => undefined); // one that holds something stays
    append([endOf(MADE, "failed", since), { type: "failure", code: "no_worktree", message }]);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  return true;
}

/** The agent's directory: the commit may lack it, or have something else in its place, such as a link to elsewhere. */
async function makeBelow(path: string, dir: string): Promise<void> {
  let at = path;
  for (const name of relative(path, dir)
    .split("/")
    .filter((name) => name !== "")) {
    at = join(at, name);
    const found = await lstat(at).catch(() => undefined);
    if (!found) await mkdir(at);
    else if (!found.isDirectory()) throw new Error(`${relative(path, at)} is no directory in the commit`);
  }
}

function describe({ path, tree, isMidTurn }: Worktree, commit: string): string {
  const from = `In ${path}, from the commit ${commit.slice(0, 8)}.`;
  if (tree === undefined) return `${from} What is not committed stays in the repository's own directory.`;
  const files = isMidTurn
    ? "The branch's point is in the midst of a turn: the files are those from before that turn, not committed."
    : "The files are those of the branch's point, not committed.";
  return `${from} ${files}`;
}

/** What is to be done there once a person trusts the directory. @returns whether something was done */
export async function setUpWorkspace(
  { folder, config, env, keep, append, isStopped }: WorkspaceOptions,
  fold: ThreadFold,
): Promise<boolean> {
  const command = config.worktree?.setup;
  if (command === undefined || isDone(fold, COMMAND)) return false;
  // A runner that was killed in it may have left it running.
  await killMarked(folder);
  append([startOf(COMMAND, `Setting up: ${command.slice(0, 200)}`)]);
  const since = Date.now();
  const { code, words } = await run(keep({ ...bash(command, env), cwd: config.dir }), isStopped);
  if (code === null) await killMarked(folder); // what it had begun ends with it
  const status = code === 0 ? "completed" : "failed";
  const seconds = Math.round((Date.now() - since) / 1_000);
  const title =
    code === 0 ? `Set up in ${seconds} s` : `The setup failed (${code ?? "it was ended"}) after ${seconds} s`;
  const description = `${command}${code === 0 ? "" : `\n${words}`}`;
  append([
    endOf(COMMAND, status, since),
    { type: "notice", severity: code === 0 ? "info" : "warning", title, description },
  ]);
  return true;
}

function bash(command: string, env: Env): Omit<Command, "cwd"> {
  return { program: "/bin/bash", args: ["-c", RUN_COMMAND], env: { ...env, [COMMAND_VARIABLE]: command } };
}

async function run({ program, args, env, cwd }: Command, isStopped: () => boolean): Promise<Ending> {
  if (!existsSync(cwd)) return { code: null, words: `${cwd} is not there` };
  // A directory that was swapped for a link since it was looked at is not entered.
  const child = inDirectory(cwd, (name) =>
    spawn(program, args, {
      cwd: name,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: COMMAND_MS,
      killSignal: "SIGKILL",
    }),
  );
  let words = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      words = (words + text).slice(-MAX_WORDS);
      process.stdout.write(text);
    });
  }
  const ended = new Promise<Ending>((resolve) => {
    child.once("error", (error) => resolve({ code: null, words: error.message }));
    // What it left in the background may hold its output open for ever.
    child.once("exit", (code) => setImmediate(() => resolve({ code, words })));
  });
  try {
    for (;;) {
      const ending = await Promise.race([ended, pause(LOOK_MS)]);
      if (ending) return ending;
      if (isStopped()) child.kill("SIGKILL");
    }
  } catch (error) {
    child.kill("SIGKILL"); // nobody would look at it any more
    throw error;
  }
}

function isDone({ setUp = [] }: ThreadFold, stepId: string): boolean {
  return setUp.includes(stepId);
}

function startOf(stepId: string, title: string): EventBody {
  return { type: "step_start", stepId, kind: "setup", title };
}

function endOf(stepId: string, status: "completed" | "failed", since: number): EventBody {
  return { type: "step_end", stepId, status, durationMs: Date.now() - since };
}
