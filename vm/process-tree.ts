/** Finds and ends all processes of a thread through /proc: no process is spawned for it. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { constants } from "node:os";
import { pause } from "../shared/lifecycle.ts";
import { killGroup, listGroup, removeGroup } from "./cgroups.ts";

/** By what a thread's processes are known. */
export interface TreeSeed {
  /**
   * The pane's process: our wrapper, leader of the pane's session. 0 when not known. It may have ended long ago and
   * its number be another process's by now: without the marker it is not taken for ours.
   */
  panePid: number;
  /** The pane's terminal, such as /dev/pts/4; empty when not known. */
  tty: string;
  /** A unique `NAME=value` in the environment of everything started in the pane; undefined when not known. */
  marker: string | undefined;
  /** The program's control group; undefined where it has none. The wrapper is not in it. */
  group?: string | undefined;
}

interface Process {
  pid: number;
  ppid: number;
  session: number;
  /** Clock ticks since boot: with the pid it names one process for ever. */
  startedAt: number;
}

/**
 * Everything alive that belongs to the thread: its control group, the pane's session, whatever carries the marker,
 * whatever has the pane's terminal open, and all their descendants. What double-forks, leaves the session, clears
 * its environment and closes the terminal, all of it, is found by its control group alone.
 * @param also processes that are known to belong to it.
 * @param strangers filled with processes that do not: a second look needs not look at them again.
 */
export function findTree(
  seed: TreeSeed,
  also: readonly Process[] = [],
  strangers: Set<string> = new Set(),
): Process[] {
  const all = listProcesses();
  const known = new Set(also.map(identity));
  const grouped = new Set(seed.group === undefined ? [] : listGroup(seed.group));
  const namesake = all.find((p) => p.pid === seed.panePid);
  const isOurs = namesake && (seed.marker === undefined || hasMarker(namesake.pid, seed.marker));
  const leader = isOurs ? namesake : undefined;
  const looked: Process[] = [];
  const isTied = (process: Process) => {
    const environment = readProc(process.pid, "environ");
    if (environment !== "") looked.push(process); // in the middle of exec there is none for a moment
    if (seed.marker !== undefined && environment?.split("\0").includes(seed.marker)) return true;
    return leader !== undefined && process.startedAt >= leader.startedAt && hasOpen(process.pid, seed.tty);
  };
  // While anything is left of a session, no other process gets its number.
  const session = leader || !namesake ? seed.panePid : 0;
  const members = new Set<number>();
  for (const process of all) {
    const isMember =
      process === leader ||
      grouped.has(process.pid) ||
      (session > 0 && process.session === session) ||
      known.has(identity(process)) ||
      (!strangers.has(identity(process)) && isTied(process));
    if (isMember) members.add(process.pid);
  }
  for (let grew = true; grew; ) {
    grew = false;
    for (const { pid, ppid } of all) {
      if (members.has(ppid) && !members.has(pid)) {
        members.add(pid);
        grew = true;
      }
    }
  }
  members.delete(process.pid);
  for (const process of looked) if (!members.has(process.pid)) strangers.add(identity(process));
  return all.filter((p) => members.has(p.pid));
}

/**
 * Ends the whole tree: TERM to all but the wrapper (which then keeps the program's exit code and goes by itself),
 * KILL to what is left after `graceMs`.
 * @returns how many processes are still alive; 0 unless something can't be killed.
 */
export async function killTree(seed: TreeSeed, graceMs = 2_000): Promise<number> {
  const strangers = new Set<string>();
  const look = async (also: readonly Process[]) => {
    const tree = findTree(seed, also, strangers);
    if (tree.length > 0) return tree;
    await pause(10); // what was in the middle of exec has its environment now
    return findTree(seed, also, strangers);
  };
  let tree = await look([]);
  const programs = () => tree.filter((p) => p.pid !== seed.panePid);
  signal(programs(), "SIGTERM");
  // An interactive shell ignores TERM and goes at HUP. Others get no HUP: it would end them while they tidy up.
  signal(programs().filter(ignoresTerm), "SIGHUP");
  signal(programs(), "SIGCONT"); // what is stopped sees neither before it goes on
  for (let waitedMs = 0, stepMs = 10; tree.length > 0 && waitedMs < graceMs; ) {
    await pause(stepMs);
    waitedMs += stepMs;
    stepMs = Math.min(stepMs * 2, 100);
    tree = await look(tree);
  }
  for (let round = 0; round < 5 && programs().length > 0; round++) {
    if (seed.group !== undefined) killGroup(seed.group);
    signal(programs(), "SIGKILL");
    await pause(20);
    tree = await look(tree);
  }
  // The wrapper alone is left: it has the exit code and waits for tmux to drain. Let it, then insist.
  for (let waitedMs = 0; tree.length > 0 && waitedMs < 400; waitedMs += 20) {
    await pause(20);
    tree = await look(tree);
  }
  for (let round = 0; round < 5 && tree.length > 0; round++) {
    signal(tree, "SIGKILL");
    await pause(20);
    tree = await look(tree);
  }
  if (seed.group !== undefined) removeGroup(seed.group);
  return tree.length;
}

/** Kills what runs with exactly these arguments (the program's name aside) and was not started by this process. */
export function killStrays(args: readonly string[]): void {
  const wanted = args.join("\0");
  const strays = listProcesses().filter(({ pid, ppid }) => {
    if (ppid === process.pid || pid === process.pid) return false;
    const commandLine = readProc(pid, "cmdline") ?? "";
    return commandLine.slice(commandLine.indexOf("\0") + 1, -1) === wanted;
  });
  signal(strays, "SIGKILL");
}

function signal(processes: readonly Process[], name: NodeJS.Signals): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, name);
    } catch (error) {
      // It is gone already, or is another user's: the next look counts it if it lives.
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ESRCH" && code !== "EPERM") throw error;
    }
  }
}

function identity(process: Process): string {
  return `${process.pid}:${process.startedAt}`;
}

function listProcesses(): Process[] {
  const processes: Process[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? readProc(pid, "stat") : undefined;
    if (stat === undefined) continue;
    // The name in brackets may hold anything, so fields are counted from the last bracket: state is the first.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") continue;
    processes.push({
      pid,
      ppid: Number(fields[1]),
      session: Number(fields[3]),
      startedAt: Number(fields[19]),
    });
  }
  return processes;
}

function ignoresTerm({ pid }: Process): boolean {
  const ignored = /^SigIgn:\t([0-9a-f]+)$/m.exec(readProc(pid, "status") ?? "")?.[1] ?? "0";
  return (BigInt(`0x${ignored}`) & (1n << BigInt(constants.signals.SIGTERM - 1))) !== 0n;
}

function hasMarker(pid: number, marker: string): boolean {
  return readProc(pid, "environ")?.split("\0").includes(marker) ?? false;
}

function hasOpen(pid: number, path: string): boolean {
  if (path === "") return false;
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => findLink(`/proc/${pid}/fd/${fd}`) === path);
  } catch {
    return false; // gone meanwhile, or another user's
  }
}

function findLink(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch {
    return undefined; // closed meanwhile: the others still count
  }
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return undefined; // gone meanwhile, or another user's
  }
}
