/** Looks at what the machine has for the sidecar: programs, room, file watches, control groups, the time. */
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { RESOURCES } from "../../shared/budget.ts";
import { Fault, type Finding, type Look, note } from "../../shared/doctor.ts";
import { errorText } from "../../shared/errors.ts";
import { findProgram } from "../../shared/find-program.ts";
import type { HealthReply } from "../../shared/machine-api.ts";
import { LOW_BYTES } from "../streams/disk.ts";
import { findVersion } from "../tmux/server-process.ts";
import type { Surroundings } from "./surroundings.ts";

/** A log and a folder a thread take some: with fewer a disk is full though bytes are left. */
const LOW_INODES = 1_000;
/** So much less is worth a word, but no reason to stop. */
const SCARCE_BYTES = 1024 ** 3;
const DAY_MS = 86_400_000;

export interface MachineOptions {
  stateDir: string;
  /** The environment that programs in threads get. */
  env: Record<string, string>;
  around: Surroundings;
  /** What a sidecar that runs can do counts, not what the shell can in which somebody looks. */
  findRunning: () => Promise<HealthReply | undefined>;
}

export function machineLooks(options: MachineOptions): Look[] {
  const { stateDir, env, around } = options;
  const folder = nearest(stateDir);
  return [
    { name: "tmux", mend: "apt-get install -y tmux", run: () => findVersion({ tmux: "tmux", env }) },
    { name: "git", mend: "apt-get install -y git", run: () => lookAtGit(env) },
    { name: "disk", mend: `df -h ${folder}`, run: () => lookAtDisk(folder, around) },
    { name: "file watches", mend: "cat /proc/sys/fs/inotify/*", run: () => lookAtWatches(around) },
    { name: "control groups", mend: "threadmux service install", run: () => lookAtGroups(options) },
    { name: "budgets", mend: "threadmux service install", run: () => lookAtBudgets(options) },
    { name: "clock", mend: "timedatectl set-ntp true", run: () => lookAtClock(around) },
  ];
}

function lookAtGit(env: Record<string, string>): string | Finding[] {
  const git = findProgram("git", env["PATH"] ?? "");
  if (git !== undefined) return git;
  const says = "it is not on PATH: agents work without Undo, Diff and worktrees";
  return [note("git", says, "apt-get install -y git")];
}

function lookAtDisk(folder: string, around: Surroundings): string | Finding[] {
  const free = around.freeDiskBytes(folder);
  const inodes = around.freeInodes(folder);
  const mend = `df -h ${folder}; du -xh -d 2 ${folder} | sort -h | tail`;
  if (free <= LOW_BYTES) throw new Fault(`${sizeOf(free)} are free in ${folder}: it is full`, mend);
  if (inodes !== undefined && inodes < LOW_INODES)
    throw new Fault(`the file system of ${folder} takes ${inodes} more files: it is full`, `df -i ${folder}`);
  if (free < SCARCE_BYTES) return [note("disk", `only ${sizeOf(free)} are free in ${folder}`, mend)];
  return `${sizeOf(free)} are free in ${folder}`;
}

function lookAtWatches(around: Surroundings): string {
  const problem = around.findWatchProblem(tmpdir());
  if (problem === undefined) return "they can be had";
  const { code } = problem as NodeJS.ErrnoException;
  // Too few instances, or too few watches in all.
  const [key, value] = code === "EMFILE" ? ["max_user_instances", 1_024] : ["max_user_watches", 524_288];
  throw new Fault(
    `no folder can be watched (${errorText(problem)}): output comes up to a second late`,
    `sysctl -w fs.inotify.${key}=${value} # and keep it: the same line in /etc/sysctl.d/60-threadmux.conf`,
  );
}

async function lookAtGroups({ stateDir, around, findRunning }: MachineOptions): Promise<string | Finding[]> {
  const running = (await findRunning())?.groups;
  if (running?.areMade ?? around.canMakeGroups(stateDir)) return "each thread gets one";
  const who = running ? "the sidecar that runs can make none" : "none can be made from here";
  const says = `${who}: a program that hides on purpose can survive the end of its thread`;
  return [note("control groups", says, "threadmux service install # a service of systemd has its own")];
}

/** A machine that holds none is fine if nobody asks for one: threads say so if somebody does. */
async function lookAtBudgets({ stateDir, around, findRunning }: MachineOptions): Promise<string | Finding[]> {
  const problems = (await findRunning())?.groups?.problems ?? around.findBudgetProblems(stateDir);
  const missing = RESOURCES.filter((resource) => problems[resource] !== undefined);
  const held = RESOURCES.filter((resource) => problems[resource] === undefined);
  if (missing.length === 0) return `${held.join(", ")} of a thread can be bounded`;
  const why = [...new Set(missing.map((resource) => problems[resource]))].join("; ");
  const mend = "threadmux service install # on systemd 254 or newer a service can hold them";
  return [note("budgets", `${missing.join(", ")} of a thread can't be bounded: ${why}`, mend)];
}

function lookAtClock({ now, builtAt }: Surroundings): string {
  const time = new Date(now()).toISOString();
  if (now() > builtAt - DAY_MS) return time;
  throw new Fault(`it says ${time}, before this program was built`, "timedatectl set-ntp true");
}

function nearest(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearest(dirname(path));
}

function sizeOf(bytes: number): string {
  return bytes < 1024 ** 3 ? `${Math.floor(bytes / 1024 ** 2)} MiB` : `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}
