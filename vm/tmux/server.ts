/** Our tmux server, as the threads use it: sessions and their panes are made, found, changed and ended here. */
import { pause } from "../../shared/lifecycle.ts";
import { findCpuMs } from "../processes/processes.ts";
import { type ConnectionListeners, type ConnectionOptions, TmuxConnection } from "./connection.ts";
import { TmuxError } from "./control-client.ts";
import { EscapeTime } from "./escape-time.ts";
import { PANE_FORMAT, type Pane, parsePane } from "./pane.ts";
import { quoteCommand } from "./protocol.ts";
import { Screens } from "./screens.ts";
import { CTL_SESSION } from "./server-process.ts";
import { sinkCommand } from "./sink.ts";
import { Typist } from "./typist.ts";

export type TmuxListeners = Omit<ConnectionListeners, "onConnected"> & { onConnected: () => Promise<void> };

/** Panes that need a look: their process ended or their log lost its writer. Cheap also with 200 panes. */
const NEEDS_A_LOOK = "#{||:#{pane_dead},#{==:#{pane_pipe},0}}";

const PING = "display-message -p x";
const HOLD_LOOK_MS = 50;

export class TmuxServer {
  readonly #connection: TmuxConnection;
  readonly #stop = new AbortController();
  /** How long cut keys wait for their rest. */
  readonly escapeTime: EscapeTime;
  /** What types into panes. */
  readonly typist: Typist;
  /** What panes show. */
  readonly screens: Screens;

  constructor(options: ConnectionOptions) {
    const connection = new TmuxConnection(options);
    this.#connection = connection;
    this.screens = new Screens(connection);
    this.escapeTime = new EscapeTime({
      run: (commands) => connection.run(commands),
      signal: this.#stop.signal,
    });
    this.typist = new Typist({
      stateDir: options.stateDir,
      version: () => connection.version ?? "",
      run: (commands) => connection.run(commands),
      runInTime: (commands, livePane) => connection.runInTime(commands, livePane),
    });
  }

  /** See {@link TmuxConnection.version}. */
  get version(): string | null {
    return this.#connection.version;
  }

  /** See {@link TmuxConnection.downForMs}. */
  downForMs(): number | null {
    return this.#connection.downForMs();
  }

  /** See {@link TmuxConnection.start}. */
  async start(listeners: TmuxListeners): Promise<void> {
    this.typist.removeLeftFiles();
    await this.#connection.start({
      ...listeners,
      onConnected: async (buffers) => {
        this.typist.noteBuffers(buffers);
        await this.typist.dropUnpasted();
        this.escapeTime.renew();
        await listeners.onConnected();
      },
    });
  }

  /** Disconnects. The server and all sessions go on. */
  close(): Promise<void> {
    this.#stop.abort();
    return this.#connection.close();
  }

  /**
   * Makes a session whose first byte and last byte are in the log: one line, so that tmux runs all of it before
   * it reads from the pane (separate calls lose the output of quick programs 9 times of 10). `-c` and `-s` are
   * format-expanded by tmux, so the directory is the wrapper's to enter and the name is ours. A session of that
   * name that a failed attempt left behind is ended first.
   */
  async createSession(request: {
    name: string;
    cols: number;
    rows: number;
    argv: readonly string[];
    env: Record<string, string>;
    /** Relative to the state folder, of [A-Za-z0-9/_.-] only: tmux expands it, then a shell. */
    logPath: string;
    /** Relative too: where the sink leaves its process id. */
    sinkPidPath: string;
  }): Promise<{ paneId: string; panePid: number; tty: string }> {
    const { name, argv, env } = request;
    await this.killSession(name);
    const size = ["-x", String(request.cols), "-y", String(request.rows)];
    const target = `=${name}:`;
    const envArgs = Object.entries(env).flatMap(([key, value]) => ["-e", `${key}=${value}`]);
    const format = "#{pane_id} #{pane_pid} #{pane_tty}";
    const [created = []] = await this.#connection.runInTime([
      quoteCommand(["new-session", "-d", "-P", "-F", format, "-s", name, ...size, ...envArgs, "--", ...argv]),
      quoteCommand(["set-option", "-w", "-t", target, "remain-on-exit", "on"]),
      // Sets `window-size manual` on this window alone; set globally it crashes the server (tmux 3.3a to 3.6a).
      quoteCommand(["resize-window", "-t", target, ...size]),
      pipeCommand(target, request),
    ]);
    const [paneId = "", pid = "", tty = ""] = (created[0] ?? "").split(" ");
    return { paneId, panePid: Number(pid), tty };
  }

  /** Gives a pane whose sink has died a new one. */
  async pipe(paneId: string, paths: { logPath: string; sinkPidPath: string }): Promise<void> {
    await this.#connection.run([pipeCommand(paneId, paths)]);
  }

  /** Runs another program in a pane whose process has ended; the log goes on. */
  async respawn(
    paneId: string,
    argv: readonly string[],
    /** If the log has lost its writer: the new one is there before the first byte. */
    newSink?: { logPath: string; sinkPidPath: string },
  ): Promise<{ panePid: number; tty: string }> {
    const replies = await this.#connection.runInTime([
      quoteCommand(["respawn-pane", "-t", paneId, "--", ...argv]),
      ...(newSink ? [pipeCommand(paneId, newSink)] : []),
      quoteCommand(["display-message", "-p", "-t", paneId, "#{pane_pid} #{pane_tty}"]),
    ]);
    const shown = replies.at(-1) ?? [];
    const [pid = "", tty = ""] = (shown[0] ?? "").split(" ");
    return { panePid: Number(pid), tty };
  }

  async listPanes(which: "all" | "needing a look"): Promise<Pane[]> {
    const filter = which === "all" ? [] : ["-f", NEEDS_A_LOOK];
    const [lines = []] = await this.#connection.run([
      quoteCommand(["list-panes", "-a", ...filter, "-F", PANE_FORMAT]),
    ]);
    return lines.map(parsePane).filter((pane) => pane.session !== CTL_SESSION);
  }

  /**
   * Makes tmux collect every ended child: before 3.6, with utempter, it can miss one and then never says how the
   * pane's process ended.
   */
  async collectChildren(): Promise<void> {
    await this.#connection.run(["run-shell true"]);
  }

  async findSize(paneId: string): Promise<{ cols: number; rows: number }> {
    const [lines = []] = await this.#connection.run([
      quoteCommand(["display-message", "-p", "-t", paneId, "#{pane_width} #{pane_height}"]),
    ]);
    const [cols = 0, rows = 0] = (lines[0] ?? "").split(" ").map(Number);
    return { cols, rows };
  }

  async resize(name: string, size: { cols: number; rows: number }): Promise<void> {
    await this.#connection.runInTime([resizeCommand(name, size)]);
  }

  /** {@link resize} of what keeps the server busy: it is waited for. */
  async resizePatiently(name: string, size: { cols: number; rows: number }): Promise<void> {
    await this.#connection.runPatiently([resizeCommand(name, size)]);
  }

  /** Ends a session; no session of that name is no error. Its sink sees the end of its input and exits. */
  async killSession(name: string): Promise<void> {
    try {
      await this.#connection.run([quoteCommand(["kill-session", "-t", `=${name}`])]);
    } catch (error) {
      if (!(error instanceof TmuxError && /can't find session/.test(error.message))) throw error;
    }
  }

  /** The CPU time that the server has used; undefined if there is none, or if nobody can say. */
  findCpuMs(): number | undefined {
    const pid = this.#connection.serverPid;
    return pid === undefined ? undefined : findCpuMs(pid);
  }

  /**
   * How long the server is busy with other things before it answers, in its own CPU time, which other processes of the
   * machine do not lengthen. Its answer is not waited for any longer than `enoughMs` of that.
   * @throws AppError `unavailable` if it does not answer for seconds.
   */
  async measureHold(enoughMs: number): Promise<number> {
    const before = this.findCpuMs() ?? 0;
    let isAnswered = false;
    const answer = this.#connection.runPatiently([PING]).finally(() => {
      isAnswered = true;
    });
    answer.catch(() => undefined); // if nobody waits for it any more
    for (;;) {
      await Promise.race([answer, pause(HOLD_LOOK_MS)]);
      const heldMs = (this.findCpuMs() ?? 0) - before;
      if (isAnswered || heldMs >= enoughMs) return heldMs;
    }
  }

  /** A round trip: the server has gone through its event loop when this returns. */
  async ping(): Promise<void> {
    await this.#connection.run([PING]);
  }
}

function resizeCommand(name: string, { cols, rows }: { cols: number; rows: number }): string {
  return quoteCommand(["resize-window", "-t", `=${name}:`, "-x", String(cols), "-y", String(rows)]);
}

function pipeCommand(target: string, paths: { logPath: string; sinkPidPath: string }): string {
  return quoteCommand(["pipe-pane", "-t", target, sinkCommand(paths)]);
}
