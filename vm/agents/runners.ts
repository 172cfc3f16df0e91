/** Runners of agent threads: started in the thread's pane, never two of one thread. */
import { spawn } from "node:child_process";
import {
  BOARD_FOLDER,
  BYPASS_ALLOWED,
  ENGINE_FOLDER_MARKER,
  GATE_MARKER,
  LOCK_FOLDER,
  PLACES_FOLDER,
  PLACES_MAX,
  PLACES_READY,
  RUNNER_MARKER,
  SANDBOX,
  SPEND_CAP,
  SPEND_FOLDER,
  STATE_FOLDER,
  THREAD_TITLE,
  TRUST_FOLDER,
} from "../../shared/agent/markers.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { withDeadline } from "../../shared/lifecycle.ts";
import { type Sandbox, sandboxText } from "../../shared/sandbox/modes.ts";
import { titleOf } from "../../shared/title.ts";
import { killMarked } from "../processes/kill-marked.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import { sessionName } from "../threads/names.ts";
import type { Programs, RunningProgram } from "../threads/programs.ts";
import { unlessAway } from "../threads/tmux-replies.ts";
import type { TmuxServer } from "../tmux/server.ts";
import type { AgentFolders } from "./folders.ts";
import type { McpFiles } from "./mcp-files.ts";

/** Closing what is open takes a runner without an engine a moment. */
const CLOSING_TIMEOUT_MS = 15_000;

export interface RunnersOptions {
  store: Store;
  tmux: TmuxServer;
  programs: Programs;
  folders: AgentFolders;
  mcpFiles: McpFiles;
  /** The runner's program with its arguments, but for the folder. */
  runner: readonly string[];
  threadEnv: Record<string, string>;
  /** How many agents have a turn at once. */
  maxAgents: number;
  /** Undefined: nobody limits it. */
  spendLimitUsdPerDay: number | undefined;
  allowBypass: boolean;
  /** What keeps the agents' commands in; undefined: nothing does. */
  sandbox: Sandbox | undefined;
}

/** The callers hold the thread's queue. */
export class Runners {
  readonly #options: RunnersOptions;

  constructor(options: RunnersOptions) {
    this.#options = options;
  }

  /**
   * Starts the thread's next runner, in a new session on the same log. A runner that is left from before is ended
   * first, and waited for: two would write one transcript.
   * @throws AppError `unavailable`
   */
  async start(thread: StoredThread): Promise<RunningProgram> {
    const { store, programs, folders, runner, maxAgents, mcpFiles } = this.#options;
    const { threadId } = thread;
    await this.end(threadId);
    mcpFiles.write(threadId);
    const run = store.agents.takeRun(threadId);
    return programs.open(thread, run, {
      argv: [...runner, folders.of(threadId)],
      input: "",
      env: {
        ...this.#marker(threadId),
        [STATE_FOLDER]: folders.state,
        [TRUST_FOLDER]: folders.trust,
        [LOCK_FOLDER]: folders.locks,
        [BOARD_FOLDER]: folders.board,
        [THREAD_TITLE]: thread.title === "" ? titleOf(thread.dir, thread.command) : thread.title,
        ...this.#placesEnv(),
        // As many wait with a runner as may work, so that the next turn begins at once.
        [PLACES_READY]: String(maxAgents),
        ...this.#spendEnv(),
        ...this.#rightsEnv(),
      },
    });
  }

  /** Ends the runner, if one runs, and waits until it is gone. Its engine, which lacks the marker, goes on. */
  async end(threadId: ThreadId): Promise<void> {
    for (const [name, value] of Object.entries(this.#marker(threadId))) await killMarked(`${name}=${value}`);
  }

  /** Ends the runner, the engine and all that it started, and waits until they are gone. */
  async endAll(threadId: ThreadId): Promise<void> {
    await this.end(threadId);
    for (const name of [ENGINE_FOLDER_MARKER, GATE_MARKER])
      await killMarked(`${name}=${this.#options.folders.of(threadId)}`);
  }

  /** Lets a runner without a terminal write down how the thread ended; its engine is gone. */
  async runToClose(threadId: ThreadId, timeoutMs = CLOSING_TIMEOUT_MS): Promise<void> {
    const { folders, runner, threadEnv } = this.#options;
    const [program = "", ...args] = [...runner, folders.of(threadId)];
    const shared = { [LOCK_FOLDER]: folders.locks, [BOARD_FOLDER]: folders.board, ...this.#placesEnv() };
    const env = { ...threadEnv, ...this.#marker(threadId), ...shared, ...this.#spendEnv() };
    const child = spawn(program, args, { env, stdio: "ignore" });
    const ended = new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", () => resolve());
    });
    try {
      await withDeadline(ended, timeoutMs, "closing an agent's transcript");
    } finally {
      child.kill("SIGKILL");
    }
  }

  /** Ends the session of a runner that has ended. */
  async endSession(threadId: ThreadId): Promise<void> {
    await unlessAway(this.#options.tmux.killSession(sessionName(threadId)));
  }

  #spendEnv(): Record<string, string> {
    const { folders, spendLimitUsdPerDay } = this.#options;
    if (spendLimitUsdPerDay === undefined) return {};
    return { [SPEND_FOLDER]: folders.spend, [SPEND_CAP]: String(spendLimitUsdPerDay) };
  }

  #placesEnv(): Record<string, string> {
    const { folders, maxAgents } = this.#options;
    return { [PLACES_FOLDER]: folders.places, [PLACES_MAX]: String(maxAgents) };
  }

  #rightsEnv(): Record<string, string> {
    const { allowBypass, sandbox } = this.#options;
    return {
      ...(allowBypass && { [BYPASS_ALLOWED]: "1" }),
      ...(sandbox && { [SANDBOX]: sandboxText(sandbox) }),
    };
  }

  #marker(threadId: ThreadId): Record<string, string> {
    return { [RUNNER_MARKER]: this.#options.folders.of(threadId) };
  }
}
