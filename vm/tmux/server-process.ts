/** The tmux server as a process of its own: found, started, given its settings. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Fault } from "../../shared/doctor.ts";
import { errorText } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import { findTerm } from "../processes/login.ts";
import { ESCAPE_MS } from "./escape-time.ts";
import { isTmuxAtLeast, OLDEST_TMUX } from "./protocol.ts";

const run = promisify(execFile);
const INSTALL_TMUX = "apt-get install -y tmux";

/** The session that holds the server up and that the control client is attached to. */
export const CTL_SESSION = "_ctl";

export interface TmuxProgram {
  /** A name to look up on PATH, or a path. */
  tmux: string;
  /** Arguments before the command: `-S`, `-f`, … */
  baseArgs: readonly string[];
  env: Record<string, string>;
  /** Holds the socket; the server's working directory. */
  stateDir: string;
}

export function baseArgsOf(stateDir: string): string[] {
  return ["-u", "-S", join(stateDir, "tmux.sock"), "-f", "/dev/null"];
}

/** @returns what `tmux -V` says. @throws Fault if tmux is missing or too old. */
export async function findVersion({ tmux, env }: Pick<TmuxProgram, "tmux" | "env">): Promise<string> {
  const version = await run(tmux, ["-V"], { env, timeout: 5_000 }).then(
    ({ stdout }) => stdout.trim(),
    (cause: unknown) => {
      throw new Fault(`tmux can't be run (${errorText(cause)})`, INSTALL_TMUX, { cause });
    },
  );
  if (isTmuxAtLeast(version, OLDEST_TMUX)) return version;
  throw new Fault(`tmux ${OLDEST_TMUX} or newer is needed, this is ${version}`, INSTALL_TMUX);
}

/** One call, safe to repeat: a running server gets its settings again and refuses what comes after them. */
export async function startServer(
  { tmux, baseArgs, env, stateDir }: TmuxProgram,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const settings = [
    "start-server",
    "set -s exit-empty off",
    "set -g remain-on-exit on",
    "set -g history-limit 2000",
    "set -g status off",
    `set -g default-terminal ${findTerm(env)}`,
    "set -s set-clipboard off",
    `set -s escape-time ${ESCAPE_MS}`,
    "set -g prefix None",
    "set -g prefix2 None",
  ].map((command) => command.split(" "));
  const commands = [
    ...settings,
    ["set", "-g", "update-environment", ""],
    ["new-session", "-d", "-s", CTL_SESSION, "-x", "80", "-y", "24", "exec sleep 2147483647"],
    // Last, since they fail if it was done before.
    ["unbind-key", "-a", "-T", "prefix"],
    ["unbind-key", "-a", "-T", "root"],
  ];
  const args = commands.flatMap((command, i) => (i === 0 ? command : [";", ...command]));
  try {
    await run(tmux, [...baseArgs, ...args], {
      env,
      cwd: stateDir,
      timeout: timeoutMs,
      signal,
      killSignal: "SIGKILL",
    });
  } catch (error) {
    if (!/duplicate session: _ctl|table \w+ doesn't exist/.test(errorText(error))) throw error;
  }
}

/** A deleted socket file would hide a living server; it makes the file anew on SIGUSR1. */
export async function findLostSocket({ stateDir }: TmuxProgram, signal: AbortSignal): Promise<void> {
  const socket = join(stateDir, "tmux.sock");
  if (existsSync(socket) || !existsSync(pidFileOf(stateDir))) return;
  const pid = Number(readFileSync(pidFileOf(stateDir), "utf8"));
  const commandFile = `/proc/${pid}/cmdline`;
  if (!Number.isInteger(pid) || pid <= 1 || !existsSync(commandFile)) return;
  if (!readFileSync(commandFile, "utf8").includes(socket)) return;
  process.kill(pid, "SIGUSR1");
  for (let waitedMs = 0; waitedMs < 1_000; waitedMs += 20) {
    if (existsSync(socket)) return;
    await pause(20, signal);
  }
  // A second server beside it would take its place and nobody would see its sessions again.
  if (existsSync(commandFile)) throw new Error(`the tmux server ${pid} lives but has no socket`);
}

/** Keeps the server's process id, by which {@link findLostSocket} finds it. */
export function notePid({ stateDir }: TmuxProgram, pid: string): void {
  writeFileSync(pidFileOf(stateDir), `${pid}\n`, { mode: 0o600 });
}

function pidFileOf(stateDir: string): string {
  return join(stateDir, "tmux.pid");
}
