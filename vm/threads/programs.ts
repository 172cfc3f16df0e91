/** Starts programs in threads' panes, and ends what is left of them. */
import type { Cgroups } from "../processes/cgroups.ts";
import { killTree, type TreeSeed } from "../processes/process-tree.ts";
import { limitOf } from "../processes/processes.ts";
import type { StoredThread } from "../store/threads.ts";
import type { TmuxServer } from "../tmux/server.ts";
import type { Budgets } from "./budgets.ts";
import { sessionName } from "./names.ts";
import type { ThreadFiles } from "./thread-files.ts";

export interface ProgramsOptions {
  tmux: TmuxServer;
  files: ThreadFiles;
  cgroups: Cgroups | undefined;
  budgets: Budgets;
  /** The file of tmux/wrap.sh, in which every program runs. */
  wrapper: string;
}

/** A program with its arguments. */
export interface Program {
  argv: readonly string[];
  /** The file that it reads; empty if it reads the terminal. */
  input: string;
  /** Its own variables, beside those that every thread's program has. */
  env?: Readonly<Record<string, string>>;
}

/** A program in its pane. */
export interface RunningProgram {
  paneId: string;
  panePid: number;
  tty: string;
}

/** The callers hold the thread's queue. */
export class Programs {
  readonly #options: ProgramsOptions;

  constructor(options: ProgramsOptions) {
    this.#options = options;
  }

  /**
   * Makes the thread's session with its first program in it.
   * @param runNumber names the file in which the wrapper leaves how this run ended; no two runs of a thread share it.
   * @throws AppError `unavailable`
   */
  open(thread: StoredThread, runNumber: number, program: Program): Promise<RunningProgram> {
    const { tmux, files } = this.#options;
    const { threadId, cols, rows, marker } = thread;
    const [name = "", value = ""] = marker.split("=");
    return tmux.createSession({
      name: sessionName(threadId),
      cols,
      rows,
      argv: this.#wrapped(thread, runNumber, program),
      env: { [name]: value, ...program.env },
      logPath: files.logs.pathForTmux(threadId),
      sinkPidPath: files.logs.sinkPidForTmux(threadId),
    });
  }

  /**
   * Runs another program in the pane of one that has ended. The log goes on, with a new writer if it has none.
   * @throws AppError `unavailable`
   */
  async openNext(
    thread: StoredThread,
    runNumber: number,
    program: Program,
  ): Promise<Omit<RunningProgram, "paneId">> {
    const { tmux, files } = this.#options;
    const { threadId, paneId } = thread;
    const newSink = files.logs.isSinkAlive(threadId)
      ? undefined
      : { logPath: files.logs.pathForTmux(threadId), sinkPidPath: files.logs.sinkPidForTmux(threadId) };
    return tmux.respawn(paneId, this.#wrapped(thread, runNumber, program), newSink);
  }

  /**
   * Ends what outlived its terminal: it runs where nobody sees it. Only the marker is safe to go by, because process
   * ids start anew with the machine.
   * @returns how many processes could not be ended.
   */
  endOrphans({ marker }: Pick<StoredThread, "marker">): Promise<number> {
    return this.endTree({ panePid: 0, marker });
  }

  /** Ends a thread's whole process tree. @returns how many processes could not be ended. */
  async endTree(seed: Omit<TreeSeed, "group">): Promise<number> {
    const { cgroups, budgets } = this.#options;
    const { marker } = seed;
    const survivors = await killTree({
      ...seed,
      group: marker === undefined ? undefined : cgroups?.pathOf(marker),
    });
    if (marker !== undefined) budgets.end(marker);
    return survivors;
  }

  #wrapped(thread: StoredThread, runNumber: number, { argv, input }: Program): string[] {
    const { files, cgroups, budgets, wrapper } = this.#options;
    const { threadId, path, marker } = thread;
    const own = cgroups?.make(marker);
    const groups = [...(own === undefined ? [] : [own]), ...budgets.groupsOf(thread)].join("\n");
    const limit = String(limitOf(marker));
    return ["/bin/sh", wrapper, files.runEnd(threadId, runNumber), path, groups, limit, input, ...argv];
  }
}
