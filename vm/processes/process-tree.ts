/** Finds and ends all processes of a thread through /proc: no process is spawned for it. */
import { pause } from "../../shared/lifecycle.ts";
import { hasVariable } from "../../shared/process-marker.ts";
import { isPopulated, killGroup, listGroup, removeGroup } from "./cgroups.ts";
import {
  hasLimit,
  identity,
  ignoresTerm,
  limitOf,
  listProcesses,
  type Process,
  readProc,
} from "./processes.ts";

/** By what a thread's processes are known. */
export interface TreeSeed {
  /**
   * The pane's process: our wrapper, leader of the pane's session. 0 when not known. It may have ended long ago and
   * its number be another process's by now: without the marker it is not taken for ours.
   */
  panePid: number;
  /**
   * A unique `NAME=uuid` in the environment of everything started in the pane, whose programs have the limit that
   * belongs to it; undefined when not known.
   */
  marker: string | undefined;
  /** The program's control group; undefined where it has none. The wrapper is not in it. */
  group?: string | undefined;
}

/** What is kept from one look at a tree to the next. */
interface Memory {
  /** Processes that are known to belong to it. */
  tree: readonly Process[];
  /** Processes that do not: they need not be looked at again. */
  strangers: Set<string>;
  /** Process groups that are wholly of the tree: one signal reaches what forks faster than it can be listed. */
  groups: Set<number>;
}

function newMemory(): Memory {
  return { tree: [], strangers: new Set(), groups: new Set() };
}

/**
 * Everything alive that belongs to the thread: its control group, the pane's session, whatever carries the marker or
 * its limit, and all their descendants. To have the pane's terminal open makes nobody a member: another thread's
 * program can, or a person's own tmux server that a client inside handed it to.
 */
export function findTree(seed: TreeSeed, memory: Memory = newMemory()): Process[] {
  const all = listProcesses();
  const { strangers, groups } = memory;
  const known = new Set(memory.tree.map(identity));
  // A group's number is another's only when nothing was left of it: then its leader is new.
  for (const process of all) {
    if (process.pid === process.pgid && !known.has(identity(process))) groups.delete(process.pgid);
  }
  const grouped = new Set(seed.group === undefined ? [] : listGroup(seed.group));
  const namesake = all.find((p) => p.pid === seed.panePid);
  const isOurs = namesake && (seed.marker === undefined || hasVariable(namesake.pid, seed.marker));
  const leader = isOurs ? namesake : undefined;
  const looked: Process[] = [];
  const isTied = (process: Process) => {
    const environment = readProc(process.pid, "environ");
    if (environment !== "") looked.push(process); // in the middle of exec there is none for a moment
    if (seed.marker === undefined) return false;
    return environment?.split("\0").includes(seed.marker) || hasLimit(process.pid, limitOf(seed.marker));
  };
  // A session whose leader has ended may be another's: its number is free again once nothing is left of it.
  const session = leader ? seed.panePid : 0;
  const members = new Set<number>();
  for (const process of all) {
    const isMember =
      process === leader ||
      grouped.has(process.pid) ||
      (session > 0 && process.session === session) ||
      groups.has(process.pgid) ||
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
  const mixed = new Set(all.flatMap(({ pid, pgid }) => (members.has(pid) ? [] : [pgid])));
  memory.tree = all.filter((p) => members.has(p.pid));
  for (const { pgid } of memory.tree) if (!mixed.has(pgid)) groups.add(pgid);
  return [...memory.tree];
}

/**
 * Ends the whole tree: TERM to all but the wrapper (which then keeps the program's exit code and goes by itself),
 * KILL to what is left after `graceMs`.
 * @returns how many processes are still alive; 0 unless something can't be killed.
 */
export async function killTree(seed: TreeSeed, graceMs = 2_000): Promise<number> {
  const { group, panePid } = seed;
  const memory = newMemory();
  const isGroupAlive = () => group !== undefined && isPopulated(group);
  let tree: Process[] = [];
  const look = async () => {
    tree = findTree(seed, memory);
    if (tree.length > 0 || isGroupAlive()) return;
    await pause(10); // what was in the middle of exec has its environment now
    tree = findTree(seed, memory);
  };
  const programs = () => tree.filter((p) => p.pid !== panePid);
  let isTold = false;
  const tell = () => {
    // Once: what the programs start while they tidy up is part of that.
    if (!isTold) askToEnd(programs());
    isTold ||= programs().length > 0;
  };
  await look();
  tell();
  for (let waitedMs = 0, stepMs = 10; (tree.length > 0 || isGroupAlive()) && waitedMs < graceMs; ) {
    await pause(stepMs);
    waitedMs += stepMs;
    stepMs = Math.min(stepMs * 2, 100);
    await look();
    tell(); // a wrapper that was only just made may not have started its program before
  }
  for (let round = 0; round < 25 && (programs().length > 0 || isGroupAlive()); round++) {
    if (group !== undefined) killGroup(group);
    signalGroups(memory, "SIGKILL", panePid); // the wrapper is to go by itself
    signal(programs(), "SIGKILL");
    await pause(20);
    await look();
  }
  // The wrapper alone is left: it has the exit code and waits for tmux to drain. Let it, then insist.
  for (let waitedMs = 0; tree.length > 0 && waitedMs < 400; waitedMs += 20) {
    await pause(20);
    await look();
  }
  for (let round = 0; round < 5 && tree.length > 0; round++) {
    signalGroups(memory, "SIGKILL");
    signal(tree, "SIGKILL");
    await pause(20);
    await look();
  }
  signalGroups(memory, "SIGKILL"); // should something have been missed by every look, it ends here
  if (group === undefined) return tree.length;
  removeGroup(group);
  const alive = new Set([...tree.map(({ pid }) => pid), ...listGroup(group)]);
  return Math.max(alive.size, isGroupAlive() ? 1 : 0);
}

function askToEnd(programs: readonly Process[]): void {
  signal(programs, "SIGTERM");
  // An interactive shell ignores TERM and goes at HUP. Others get no HUP: it would end them while they tidy up.
  signal(programs.filter(ignoresTerm), "SIGHUP");
  signal(programs, "SIGCONT"); // what is stopped sees neither before it goes on
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

function signal(processes: readonly Pick<Process, "pid">[], name: NodeJS.Signals): void {
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

/** A signal to a group reaches all in it at once, before any can start another. */
function signalGroups({ groups }: Memory, name: NodeJS.Signals, except?: number): void {
  signal(
    [...groups].filter((pgid) => pgid > 1 && pgid !== except).map((pgid) => ({ pid: -pgid })),
    name,
  );
}
