/** Where a thread's files lie: its log, and one file a run that the wrapper leaves with the exit code. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

export interface RunEnd {
  exitCode: number;
  /** Milliseconds since 1970. */
  endedAt: number;
}

export class ThreadFiles {
  readonly #stateDir: string;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
    for (const folder of ["logs", "runs"])
      mkdirSync(join(stateDir, folder), { recursive: true, mode: 0o700 });
  }

  log(threadId: string): string {
    return join(this.#stateDir, this.logForTmux(threadId));
  }

  /** Relative to the state folder, where the tmux server runs; an id has only characters that are safe there. */
  logForTmux(threadId: string): string {
    return `logs/${threadId}.log`;
  }

  /** Relative to the state folder too: the process id of the log's writer. */
  sinkPidForTmux(threadId: string): string {
    return `runs/${threadId}.sink`;
  }

  /**
   * Whether the log's writer has nothing to write: it waits for input, or has ended. A process that is short of CPU
   * time is not waiting, nor is one that is stopped or busy with the disk.
   */
  isSinkIdle(threadId: string): boolean {
    const file = join(this.#stateDir, this.sinkPidForTmux(threadId));
    const isThere = statSync(file, { throwIfNoEntry: false }) !== undefined;
    const pid = isThere ? readFileSync(file, "utf8").trim() : "";
    if (pid === "") return false; // about to start
    try {
      const [, name, state] = /\((.*)\) (\w)/s.exec(readFileSync(`/proc/${pid}/stat`, "latin1")) ?? [];
      if (name === "sh") return false; // not yet `cat`
      return name !== "cat" || state === "S";
    } catch {
      return true; // it has ended
    }
  }

  runEnd(threadId: string, runNumber: number): string {
    return join(this.#stateDir, "runs", `${threadId}.${runNumber}`);
  }

  /** How a run ended by its wrapper's word; undefined while it has not, or where the wrapper itself was killed. */
  findRunEnd(threadId: string, runNumber: number): RunEnd | undefined {
    const file = this.runEnd(threadId, runNumber);
    const stat = statSync(file, { throwIfNoEntry: false });
    if (!stat) return undefined;
    return { exitCode: Number(readFileSync(file, "utf8")), endedAt: Math.round(stat.mtimeMs) };
  }

  remove(threadId: string): void {
    rmSync(this.log(threadId), { force: true });
    const runs = join(this.#stateDir, "runs");
    for (const name of readdirSync(runs)) {
      if (name.startsWith(`${threadId}.`)) rmSync(join(runs, name), { force: true });
    }
  }
}
