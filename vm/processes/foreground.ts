/** Which program a terminal's keys go to. */
import { readFileSync, readlinkSync } from "node:fs";
import { listProcesses, type Process, readProc } from "./processes.ts";

/** A program names itself as it likes, and people read the name. */
const PLAIN_NAME = /^[\w.+-]+$/;

export interface Foreground {
  pid: number;
  /** In plain letters. */
  name: string;
}

/**
 * The program that reads the terminal: of the foreground's processes that have it as their input the one that started
 * none of the others. Undefined if nobody can say.
 * @param panePid of the process that leads the terminal's session
 */
export function findForeground(panePid: number, tty: string): Foreground | undefined {
  const group = foregroundGroup(panePid);
  if (group === undefined) return undefined;
  const reads = listProcesses().filter(({ pid, pgid }) => pgid === group && inputOf(pid) === tty);
  const isLast = ({ pid }: Process) => !reads.some(({ ppid }) => ppid === pid);
  const [program] = reads.filter(isLast).sort((a, b) => b.startedAt - a.startedAt);
  const name = program && readProc(program.pid, "comm")?.trim();
  return name ? { pid: program.pid, name: PLAIN_NAME.test(name) ? name : "the program" } : undefined;
}

/** Whether a program has loaded one of the libraries with which most programs edit a line: readline or libedit. */
export function linksLineEditor(pid: number): boolean {
  try {
    return /\/lib(?:readline|edit)\.so/.test(readFileSync(`/proc/${pid}/maps`, "latin1"));
  } catch {
    return false; // it is gone, or another user's
  }
}

/** The process group that the terminal of a process has in its foreground. */
function foregroundGroup(pid: number): number | undefined {
  const stat = readProc(pid, "stat");
  const group = Number(stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[5]);
  return group > 0 ? group : undefined;
}

function inputOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/0`);
  } catch {
    return undefined; // it is gone, or another user's
  }
}
