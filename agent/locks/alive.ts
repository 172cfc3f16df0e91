/**
 * Whether whoever holds a lock or a place still lives. A process that is dead stays dead. A FIFO's name comes again only
 * if a thread that was killed goes on under its id: its old claims must be gone by then, else they hold again.
 */
import { existsSync, readFileSync } from "node:fs";
import * as z from "zod";
import { readProcFile } from "../../shared/proc-file.ts";
import { isEngineAlive } from "../process/fifo.ts";

export const holderSchema = z.union([
  /** An engine's input: it alone reads from it. */
  z.object({ fifo: z.string().startsWith("/") }),
  /** Nobody runs: it holds for as long as the file is there. */
  z.object({ file: z.string().startsWith("/") }),
  /** A runner: a process's number counts only together with when it was started, and since which start of the machine. */
  z.object({ pid: z.number().int().positive(), startedTicks: z.string(), bootId: z.string() }),
]);
export type LiveHolder = z.infer<typeof holderSchema>;

export function isLive(holder: LiveHolder): boolean {
  if ("fifo" in holder) return isEngineAlive(holder.fifo);
  if ("file" in holder) return existsSync(holder.file);
  const { pid, startedTicks, bootId } = holder;
  return bootId === readBootId() && startedTicks === findStart(pid);
}

/** @throws Error if /proc does not tell. */
export function thisProcess(): LiveHolder {
  const startedTicks = findStart(process.pid);
  if (startedTicks === undefined)
    throw new Error("/proc/self/stat does not say when this process was started");
  return { pid: process.pid, startedTicks, bootId: readBootId() };
}

function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** Undefined if there is no such process, or it is dead and only not waited for. */
function findStart(pid: number): string | undefined {
  const stat = readProcFile(pid, "stat")?.toString("latin1");
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // its name may hold anything
  return /^[ZX]/.test(fields[0] ?? "") ? undefined : fields[19];
}
