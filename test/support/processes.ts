/** What runs on this machine, read from /proc. */
import { readdirSync, readFileSync } from "node:fs";
import { readProcFile } from "../../shared/proc-file.ts";

export interface Process {
  pid: number;
  ppid: number;
  /** `R`, `S`, `T` (stopped), …; zombies are not listed. */
  state: string;
  /** Arguments joined by spaces. */
  command: string;
  /** `NAME=value`, as the process was started. */
  environment: string[];
}

export function listProcesses(): Process[] {
  return readdirSync("/proc").flatMap((name) => {
    const found = /^\d+$/.test(name) ? findProcess(Number(name)) : undefined;
    return found ? [found] : [];
  });
}

/** The process of that id; undefined where there is none or only a zombie. */
export function findProcess(pid: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", ppid = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === "Z" || state === "X") return undefined;
    return {
      pid,
      ppid: Number(ppid),
      state,
      command: readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim(),
      environment: readFileSync(`/proc/${pid}/environ`, "utf8").split("\0"),
    };
  } catch {
    return undefined; // gone meanwhile
  }
}

export function isAlive(pid: number): boolean {
  return findProcess(pid) !== undefined;
}

/**
 * Everything started with this text in its environment or arguments, such as a test's folder: its tmux and its programs.
 * Tests ask again and again until something is there or gone: the others of the machine are passed by their bytes.
 */
export function findProcessesOf(text: string): Process[] {
  return readdirSync("/proc").flatMap((name) => {
    const pid = /^\d+$/.test(name) ? Number(name) : process.pid;
    const isOne =
      pid !== process.pid &&
      (readProcFile(pid, "environ")?.includes(text) || readProcFile(pid, "cmdline")?.includes(text));
    return (isOne && findProcess(pid)) || [];
  });
}

/**
 * Sends a signal; a process that is gone already is no error.
 * @throws Error if there is no process's id: 0 would mean the tests' own group.
 */
export function signal(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined || pid <= 0) throw new Error(`no process to send ${name} to`);
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
