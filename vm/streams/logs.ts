/** Where threads' logs lie, and the processes that write them: the sinks. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ThreadId } from "../../shared/ids.ts";
import { pause } from "../../shared/lifecycle.ts";
import { readProcFile } from "../../shared/proc-file.ts";
import { type LogSize, removeLog, sizeOfLog } from "./log-file.ts";

export class Logs {
  readonly #stateDir: string;
  /** Writers that were seen at work: one that still is one needs not be looked up again. */
  readonly #sinks = new Map<string, number>();
  /** The files that they had open when that was looked up. */
  readonly #inodes = new Map<string, number>();

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
    for (const folder of ["logs", "runs"])
      mkdirSync(join(stateDir, folder), { recursive: true, mode: 0o700 });
  }

  /** A thread's log. */
  path(threadId: ThreadId): string {
    return join(this.#stateDir, this.pathForTmux(threadId));
  }

  /** Relative to the state folder, where the tmux server runs; an id has only characters that are safe there. */
  pathForTmux(threadId: ThreadId): string {
    return `logs/${threadId}.log`;
  }

  /** Relative to the state folder too: the process id of the log's writer. */
  sinkPidForTmux(threadId: ThreadId): string {
    return `runs/${threadId}.sink`;
  }

  /** Removes a log, with all that is known of its writer. */
  remove(threadId: ThreadId): void {
    this.#sinks.delete(threadId);
    this.#inodes.delete(threadId);
    removeLog(this.path(threadId));
    this.removeRewrites(threadId);
  }

  /**
   * Whether the log's writer has nothing to write: it waits for input, or has ended. A process that is short of CPU
   * time is not waiting, nor is one that is stopped or busy with the disk.
   */
  isSinkIdle(threadId: ThreadId): boolean {
    const pid = this.#findSinkPid(threadId);
    if (pid === undefined) return false; // about to start
    const state = findProcessState(pid);
    if (state?.name === "sh") return false; // not yet `cat`
    return state?.name !== "cat" || state.letter === "S";
  }

  /** Whether the log has a writer, or is about to get one. */
  isSinkAlive(threadId: ThreadId): boolean {
    const isWriter = (pid: number) => {
      const state = findProcessState(pid);
      return state !== undefined && /^(sh|cat)$/.test(state.name) && state.letter !== "Z";
    };
    const known = this.#sinks.get(threadId);
    if (known !== undefined && isWriter(known)) return true;
    this.#sinks.delete(threadId);
    const pid = this.#findSinkPid(threadId);
    if (pid === undefined) return true;
    if (!isWriter(pid)) return false;
    this.#inodes.delete(threadId);
    this.#sinks.set(threadId, pid);
    return true;
  }

  /** Whether the log is the very file that its writer has open. True while there is no writer. */
  isLogInPlace(threadId: ThreadId, { inode }: LogSize = sizeOfLog(this.path(threadId))): boolean {
    if (inode !== 0 && inode === this.#inodes.get(threadId)) return true;
    const output = this.findSinkOutput(threadId);
    const open = output === undefined ? undefined : findInode(output);
    if (open === undefined) return true;
    this.#inodes.set(threadId, open);
    return inode === open;
  }

  /** What the log's writer writes to, even if that was deleted; undefined if there is no writer (yet). */
  findSinkOutput(threadId: ThreadId): string | undefined {
    const pid = this.#findSinkPid(threadId);
    return pid !== undefined && findProcessState(pid)?.name === "cat" ? `/proc/${pid}/fd/1` : undefined;
  }

  /** Stops the log's writer: what it has read is written. False if there is none that could be stopped. */
  async stopSink(threadId: ThreadId): Promise<boolean> {
    const pid = this.#findSinkPid(threadId);
    if (pid === undefined || !this.signalSink(threadId, "SIGSTOP")) return false;
    for (let looks = 0; looks < 100; looks++) {
      const letter = findProcessState(pid)?.letter;
      if (letter === "T") return true;
      if (letter === undefined) return false;
      await pause(5);
    }
    this.signalSink(threadId, "SIGCONT");
    return false;
  }

  signalSink(threadId: ThreadId, signal: NodeJS.Signals): boolean {
    const pid = this.#findSinkPid(threadId);
    if (pid === undefined || findProcessState(pid)?.name !== "cat") return false;
    process.kill(pid, signal);
    return true;
  }

  /** The end of a log that is being written anew to begin at `logBase`. */
  rewrite(threadId: ThreadId, logBase: number): string {
    return join(this.#stateDir, "logs", `${threadId}.from.${logBase}`);
  }

  removeRewrites(threadId: ThreadId): void {
    const folder = join(this.#stateDir, "logs");
    for (const name of readdirSync(folder)) {
      if (name.startsWith(`${threadId}.from.`)) rmSync(join(folder, name), { force: true });
    }
  }

  #findSinkPid(threadId: ThreadId): number | undefined {
    const file = join(this.#stateDir, this.sinkPidForTmux(threadId));
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
    const pid = Number(readFileSync(file, "utf8"));
    return pid > 1 ? pid : undefined; // empty: about to be written
  }
}

function findInode(file: string): number | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })?.ino;
  } catch {
    return undefined; // of a process that is just ending
  }
}

/** Read many times a second, so without what a whole `readFile` does. */
function findProcessState(pid: number): { name: string; letter: string } | undefined {
  const text = readProcFile(pid, "stat")?.toString("latin1");
  if (text === undefined) return undefined; // it has ended
  // The name in brackets may hold anything: the state is behind the last bracket.
  const end = text.lastIndexOf(")");
  return { name: text.slice(text.indexOf("(") + 1, end), letter: text.charAt(end + 2) };
}
