/** What an engine starts runs in a sandbox with it, if the sidecar has found that this machine can make one. */
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { NO_NETWORK } from "../../shared/agent/markers.ts";
import { THREAD_FILES } from "../../shared/agent/paths.ts";
import { readProcFile } from "../../shared/proc-file.ts";
import { type Box, boxCommand, prepareBox } from "../../shared/sandbox/box.ts";
import type { Sandbox } from "../../shared/sandbox/modes.ts";
import { findOtherNames } from "../../shared/sandbox/other-names.ts";
import { findSecretPlaces } from "../../shared/sandbox/secrets.ts";
import { WORK_FOLDERS } from "../../shared/user-space.ts";
import type { Env, Needs } from "../engine.ts";
import { keepWorkspace } from "./kept-workspace.ts";

const ROOM = "box";
const SSH_INCLUDES = "/etc/ssh/ssh_config.d";

export interface Kept {
  sandbox: Sandbox;
  /** A real path. */
  stateDir: string;
  /** The thread's, in the state folder. */
  folder: string;
  /** The files of the thread's folder that the engine may read. */
  files: readonly string[];
  needs?: Needs | undefined;
}

export interface Command {
  program: string;
  args: string[];
  env: Env;
  /** A real path. */
  cwd: string;
  /** Processes of the sandbox stand before it: if a signal ends it, they say so by an exit code. */
  isWrapped?: boolean;
}

/** The same command in the sandbox. What it needs is made on the disk. */
export function inSandbox(command: Command, kept: Kept): Command {
  const { sandbox, stateDir, folder, files } = kept;
  const { env: wanted, cwd } = command;
  const attachments = join(folder, THREAD_FILES.attachments);
  mkdirSync(attachments, { recursive: true, mode: 0o700 });
  const work = workFolderOf(cwd, stateDir);
  const shown = [
    { path: attachments, isFolder: true },
    ...files
      .filter((path) => existsSync(path))
      .map((path) => ({ path, isFolder: statSync(path).isDirectory() })),
    ...(work === undefined ? [] : [{ path: work, isFolder: true, isWritable: true }]),
  ];
  const { env: seen, ...only } =
    sandbox.mode === "workspace"
      ? keepWorkspace({
          ...{ ...kept, env: wanted, dir: cwd, program: command.program, needs: kept.needs },
          shown: shown.map(({ path, isFolder }) => ({
            path,
            isFolder,
            kind: path === work ? "write" : "read",
          })),
        })
      : { env: wanted };
  const env = sandbox.network === "off" ? { ...seen, [NO_NETWORK]: "1" } : seen;
  const box: Box = {
    form: sandbox.form,
    uid: process.getuid?.() ?? 0,
    gid: process.getgid?.() ?? 0,
    stateDir,
    room: join(folder, ROOM),
    shown,
    hidden: [
      ...findOtherNames(stateDir),
      ...(sandbox.mode === "state" ? [] : findSecretPlaces(env["HOME"] ?? "/")),
    ],
    dir: cwd,
    ...("mounts" in only && { only }),
  };
  prepareBox(box);
  const isWrapped = box.form === "bwrap";
  return { ...command, env: envIn(env, box), ...boxCommand(box, command.program, command.args), isWrapped };
}

/** The worktree, or the directory in user space, of a thread or of its parent. */
function workFolderOf(dir: string, stateDir: string): string | undefined {
  const [top, name] = relative(stateDir, dir).split(sep);
  const isWork = Object.values<string | undefined>(WORK_FOLDERS).includes(top);
  return isWork && top !== undefined && name !== undefined ? join(stateDir, top, name) : undefined;
}

/** ssh refuses a configuration whose owner is not known in the namespace, as root is not. */
function envIn(env: Env, { uid, hidden }: Box): Env {
  if (uid === 0 || env["GIT_SSH_COMMAND"] !== undefined || !hasFiles(SSH_INCLUDES)) return env;
  const config = join(env["HOME"] ?? "/", ".ssh", "config");
  const isSeen = existsSync(config) && hidden.every(({ path }) => !config.startsWith(`${path}${sep}`));
  return { ...env, GIT_SSH_COMMAND: `ssh -F ${isSeen ? '"$HOME/.ssh/config"' : "/dev/null"}` };
}

function hasFiles(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch {
    return false; // not there
  }
}

/**
 * Whether a process of a sandbox stands before the engine: it may end at a signal, or not hear it, and the engine would
 * go on.
 * @param pids the engine's and those before it
 */
export function isWrapper(pid: number, pids: readonly number[]): boolean {
  const [name] = statOf(pid);
  return (name === "bwrap" || name === "sh") && pids.some((one) => statOf(one)[1] === pid);
}

/** Its name and its parent. */
function statOf(pid: number): [string, number] {
  const [, name = "", parent] =
    /^\d+ \((.*)\) \S (\d+) /s.exec(readProcFile(pid, "stat")?.toString("latin1") ?? "") ?? [];
  return [name, Number(parent)];
}
