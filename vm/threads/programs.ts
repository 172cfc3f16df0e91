/** Starts programs in panes: a terminal's command, an agent's turns. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { AppError } from "../../shared/errors.ts";
import type { Cgroups } from "../processes/cgroups.ts";
import { limitOf } from "../processes/processes.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import type { Turn } from "../store/turns.ts";
import type { Pane, TmuxServer } from "../tmux/server.ts";
import { type AgentConfig, findProgram, turnArgv } from "./kinds/agent-program.ts";
import type { ThreadFiles } from "./thread-files.ts";

const MARKER_NAME = "THREADMUX_THREAD";

export interface RunnerOptions {
  store: Store;
  tmux: TmuxServer;
  files: ThreadFiles;
  cgroups: Cgroups | undefined;
  agent: AgentConfig;
  /** The environment of the threads' programs; an agent's program is looked up on its PATH. */
  threadEnv: Record<string, string>;
  /** The file of tmux/wrap.sh, in which every program runs. */
  wrapper: string;
}

/** tmux's name for a thread's session. */
export function sessionName(threadId: string): string {
  return `thread-${threadId}`;
}

/** Of one of our sessions. */
export function threadIdOf(session: string): string {
  return session.replace(/^thread-/, "");
}

export function newMarker(): string {
  return `${MARKER_NAME}=${randomUUID()}`;
}

/** A terminal runs once, as number 1; an agent's runs have the numbers of its turns. */
export const TERMINAL_RUN = 1;

/** The callers hold the thread's queue. */
export class Runner {
  readonly #options: RunnerOptions;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** @throws AppError `unavailable` where the agent's program is not on the machine. */
  checkAgentProgram(): void {
    const { agent, threadEnv } = this.#options;
    if (findProgram(agent.program, threadEnv["PATH"] ?? "")) return;
    throw new AppError(
      "unavailable",
      `The agent program ${JSON.stringify(agent.program)} is not installed on the VM. Install it, or set AGENT_PROGRAM to one that is.`,
    );
  }

  /** Makes the session with the first program in it. */
  async open(row: StoredThread): Promise<void> {
    const { store, tmux, files } = this.#options;
    const { threadId } = row;
    const turn = row.type === "agent" ? this.#takeTurn(row) : undefined;
    const argv = turn ? this.#agentArgv(row, turn) : this.#terminalArgv(row);
    const [name = "", value = ""] = row.marker.split("=");
    const pane = await tmux.createSession({
      name: sessionName(threadId),
      cols: row.cols,
      rows: row.rows,
      argv: this.#wrapped(row, turn?.seq ?? TERMINAL_RUN, argv),
      env: { [name]: value },
      logPath: files.logForTmux(threadId),
      sinkPidPath: files.sinkPidForTmux(threadId),
    });
    store.transaction(() => {
      store.threads.update(threadId, { ...pane, isMade: true });
      if (turn) store.turns.set(threadId, turn.seq, "running");
    });
  }

  /**
   * Starts an idle agent's next waiting message; with none it stays idle. Where tmux does not answer, the turn is
   * left `starting`, for {@link settleStartingTurn}.
   */
  async startWaitingTurn(threadId: string): Promise<void> {
    const { store, tmux, files } = this.#options;
    const row = store.threads.find(threadId);
    const waiting = store.turns.find(threadId, "waiting");
    if (row?.status !== "idle" || !waiting) return;
    const argv = this.#agentArgv(row, waiting); // on a full disk this fails, and the message waits on
    const turn = this.#takeTurn(row);
    const newSink = files.isSinkAlive(threadId)
      ? undefined
      : { logPath: files.logForTmux(threadId), sinkPidPath: files.sinkPidForTmux(threadId) };
    const pane = await tmux.respawn(row.paneId, this.#wrapped(row, turn.seq, argv), newSink);
    this.#nowRunning(row, turn, pane);
  }

  /**
   * Finds out whether a turn that was being started when the sidecar died or tmux hung did start: then the pane
   * has another process than before. If it did not, it is started now; it never runs twice.
   */
  async settleStartingTurn(threadId: string, pane: Pane): Promise<void> {
    const { store, files } = this.#options;
    const row = store.threads.find(threadId);
    const turn = store.turns.find(threadId, "starting");
    if (row?.status !== "running" || !turn) return;
    if (pane.pid !== row.panePid || files.findRunEnd(threadId, turn.seq)) {
      this.#nowRunning(row, turn, { panePid: pane.pid, tty: pane.tty });
      return;
    }
    store.transaction(() => {
      store.turns.set(threadId, turn.seq, "waiting");
      store.threads.update(threadId, { status: "idle" });
    });
    await this.startWaitingTurn(threadId);
  }

  #nowRunning({ threadId }: StoredThread, turn: Turn, pane: { panePid: number; tty: string }): void {
    const { store } = this.#options;
    store.transaction(() => {
      store.threads.update(threadId, pane);
      store.turns.set(threadId, turn.seq, "running");
    });
  }

  #terminalArgv(row: StoredThread): Argv {
    const configured = this.#options.threadEnv["SHELL"];
    const shell =
      [configured, "/bin/bash"].find((file) => file !== undefined && existsSync(file)) ?? "/bin/sh";
    const file = this.#options.files.writeProgram(row.threadId, row.command);
    return { words: shellWords(shell, file), input: "" };
  }

  #takeTurn({ threadId }: StoredThread): Turn {
    const { store } = this.#options;
    const turn = store.turns.find(threadId, "waiting");
    if (!turn) throw new Error(`thread ${threadId} has no message to start`);
    store.transaction(() => {
      store.turns.set(threadId, turn.seq, "starting");
      store.threads.update(threadId, { status: "running", endedAt: null, exitCode: null, signal: null });
    });
    return turn;
  }

  #agentArgv({ threadId, agentSession }: StoredThread, turn: Turn): Argv {
    const { store, files, agent, threadEnv } = this.#options;
    if (agentSession === null) throw new Error(`thread ${threadId} is no agent`);
    const words = turnArgv(agent, {
      file: findProgram(agent.program, threadEnv["PATH"] ?? "") ?? agent.program,
      session: agentSession,
      isFirst: !store.turns.hasRun(threadId),
    });
    return { words, input: files.writeProgram(threadId, turn.text) };
  }

  #wrapped(row: StoredThread, runNumber: number, { words, input }: Argv): string[] {
    const { files, cgroups, wrapper } = this.#options;
    const status = files.runEnd(row.threadId, runNumber);
    const group = cgroups?.make(row.marker) ?? "";
    const limit = String(limitOf(row.marker));
    return ["/bin/sh", wrapper, status, row.path, group, limit, input, ...words];
  }
}

/** A program with its arguments. */
interface Argv {
  words: string[];
  /** The file that it reads; empty where it reads the terminal. */
  input: string;
}

/** Shells that know `eval` and `shift` as POSIX has them. */
const POSIX_SHELL = /^(?:ba|da|a|z|k|mk|pdk|ya)?sh$/;
/** The command sees no argument, and its errors name the shell, as with `sh -c COMMAND`. */
const EVAL_FILE = 'eval "shift; $(cat -- "$1" || echo exit 126)"';

/** A shell that runs the command in a file. */
function shellWords(shell: string, file: string): string[] {
  return POSIX_SHELL.test(basename(shell)) ? [shell, "-c", EVAL_FILE, shell, file] : [shell, file];
}
