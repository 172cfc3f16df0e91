/** What runs on this machine, read from /proc. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { readProcFile } from "../../shared/proc-file.ts";

export interface Process {
  pid: number;
  ppid: number;
  /** The process group, which one signal reaches as a whole. */
  pgid: number;
  session: number;
  /** Clock ticks since boot: with the pid it names one process for ever. */
  startedAt: number;
}

export function identity(process: Process): string {
  return `${process.pid}:${process.startedAt}`;
}

/** How many looks at the newest process follow each list. */
const NEWEST_LOOKS = 8;

/**
 * All that live, but zombies. What forks and exits at once is gone before its turn in the list comes, so the list
 * ends with what the kernel says is the newest process, and is returned newest first: the caller is to look at that
 * while it lives.
 * @param isWanted spares the look at most of them
 */
export function listProcesses(isWanted: (pid: number) => boolean = () => true): Process[] {
  const processes: Process[] = [];
  const listed = new Set<number>();
  const add = (pid: number) => {
    const process = isWanted(pid) ? findProcess(pid) : undefined;
    if (process) processes.push(process);
    if (process) listed.add(pid);
  };
  for (const name of readdirSync("/proc")) {
    if (/^\d/.test(name)) add(Number(name));
  }
  for (let looks = 0; looks < NEWEST_LOOKS; looks++) {
    const pid = newestPid();
    if (pid === undefined || listed.has(pid)) break;
    add(pid);
  }
  return processes.reverse();
}

/** What was started last on this machine or container; undefined where it is a thread of this very process. */
function newestPid(): number | undefined {
  const pid = Number(readFileSync("/proc/loadavg", "latin1").trim().split(" ").at(-1));
  return existsSync(`/proc/self/task/${pid}`) ? undefined : pid;
}

/** Undefined where it is a zombie, or gone. */
function findProcess(pid: number): Process | undefined {
  const stat = readProc(pid, "stat");
  if (stat === undefined) return undefined;
  // The name in brackets may hold anything, so fields are counted from the last bracket: state is the first.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return undefined;
  return {
    pid,
    ppid: Number(fields[1]),
    pgid: Number(fields[2]),
    session: Number(fields[3]),
    startedAt: Number(fields[19]),
  };
}

export function ignoresTerm({ pid }: Process): boolean {
  const ignored = /^SigIgn:\t([0-9a-f]+)$/m.exec(readProc(pid, "status") ?? "")?.[1] ?? "0";
  return (BigInt(`0x${ignored}`) & (1n << BigInt(constants.signals.SIGTERM - 1))) !== 0n;
}

/**
 * The limit on resident memory that all of a thread's processes have, in KiB. Linux does nothing with that limit, but
 * keeps it through fork, exec, a new session, a cleared environment and another control group: a process loses it only
 * if it sets it anew. It is far above what any machine has.
 * @param marker `NAME=uuid`
 */
export function limitOf(marker: string): number {
  return 2 ** 40 + Number.parseInt(marker.slice(-10), 16);
}

export function hasLimit(pid: number, limitKib: number): boolean {
  const limits = readProc(pid, "limits") ?? "";
  return /^Max resident set +\S+ +(\d+) /m.exec(limits)?.[1] === String(limitKib * 1_024);
}

/** The CPU time that a process has used, of its main thread alone; undefined if it is gone. */
export function findCpuMs(pid: number): number | undefined {
  const nanoseconds = Number(readProc(pid, "schedstat")?.split(" ")[0]);
  if (nanoseconds > 0) return nanoseconds / 1e6;
  // Not every kernel keeps that. This one counts in hundredths of a second.
  const stat = readProc(pid, "stat");
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

export function readProc(pid: number, file: string): string | undefined {
  return readProcFile(pid, file)?.toString("latin1");
}
