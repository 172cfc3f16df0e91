/**
 * Chromium's processes: held to their memory, and ended if they do not end by themselves. A kernel that has to end
 * something takes any process; this takes the largest page.
 */
import { readdirSync, readFileSync } from "node:fs";

interface Process {
  pid: number;
  /** Proportional: what several share counts once. */
  bytes: number;
  isPage: boolean;
}

/**
 * Ends the largest page if all descendants of this process take more than a bound together.
 * @returns what they take, and whether something was ended
 */
export function boundMemory(maxBytes: number): { bytes: number; hasEnded: boolean } {
  const processes = descendantsOf(process.pid);
  const bytes = processes.reduce((sum, one) => sum + one.bytes, 0);
  if (bytes <= maxBytes) return { bytes, hasEnded: false };
  const bySize = processes.toSorted((a, b) => b.bytes - a.bytes);
  const largest = bySize.find(({ isPage }) => isPage) ?? bySize[0];
  if (!largest) return { bytes, hasEnded: false };
  kill(largest.pid);
  return { bytes, hasEnded: true };
}

/** Kills all descendants of this process: Chromium is all that it starts. */
export function endDescendants(): void {
  for (const { pid } of descendantsOf(process.pid)) kill(pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function descendantsOf(root: number): Process[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = read(`/proc/${name}/stat`);
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    if (Number.isInteger(parent)) parents.set(Number(name), parent);
  }
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = parents.get(pid); at !== undefined && at > 1; at = parents.get(at))
      if (at === root) return true;
    return false;
  };
  return [...parents]
    .filter(([pid]) => isBelow(pid))
    .map(([pid]) => ({
      ...{ pid, bytes: bytesOf(pid) },
      isPage: read(`/proc/${pid}/cmdline`).includes("--type=renderer"),
    }));
}

function bytesOf(pid: number): number {
  const kib = /^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1];
  return Number(kib ?? 0) * 1024;
}

/** Empty if the process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
