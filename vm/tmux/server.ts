/** Our tmux server: started, kept running, and spoken to. The only caller of tmux besides the control client. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { AppError, errorText } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { ControlClient, ifRefused, TmuxError, TmuxUnavailable } from "./control-client.ts";
import { isTmuxAtLeast, OLDEST_TMUX, quoteCommand } from "./protocol.ts";
import { Typist } from "./typist.ts";

const run = promisify(execFile);

export interface Pane {
  session: string;
  paneId: string;
  pid: number;
  isDead: boolean;
  exitCode: number | undefined;
  /** A signal's number, where the pane's process itself (our wrapper) died by one. */
  signal: number | undefined;
  /** Whether output still goes to the log. */
  isPiped: boolean;
  tty: string;
}

export interface TmuxServerOptions {
  /** Holds the socket; the server's working directory, so that log paths can be relative and need no quoting. */
  stateDir: string;
  /** The environment of every program in every pane. */
  env: Record<string, string>;
  tmux?: string;
  log: Log;
  /** Runs after each (re)connection, before the server counts as up. */
  onConnected: () => Promise<void>;
  /** A session or window came or went. */
  onChange: () => void;
  /** The server is gone, or the connection to it. */
  onLost?: () => void;
  /** A command was answered after so many seconds. */
  onCommand?: (seconds: number) => void;
}

const PANE_FORMAT =
  "#{pane_id}|#{pane_pid}|#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}|#{pane_pipe}|#{pane_tty}|#{session_name}";
/** Panes that need a look: their process ended or their log lost its writer. Cheap also with 200 panes. */
const NEEDS_A_LOOK = "#{||:#{pane_dead},#{==:#{pane_pipe},0}}";
const CTL_SESSION = "_ctl";
/** What tmux before 3.3 writes on the last line of a screen whose process has ended; a later one is told not to. */
const TOMBSTONE = /^Pane is dead \((status|signal) \d+, .*\)\s*$/;

export class TmuxServer {
  readonly #options: TmuxServerOptions;
  readonly #tmux: string;
  readonly #baseArgs: string[];
  readonly #stop = new AbortController();
  #client: ControlClient | undefined;
  #downSince: number | null = Date.now();
  #versionText: string | null = null;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: TmuxServerOptions) {
    this.#options = options;
    this.#tmux = options.tmux ?? "tmux";
    this.typist = new Typist({
      stateDir: options.stateDir,
      version: () => this.#versionText ?? "",
      run: (commands) => this.#run(commands),
      runInTime: (commands, livePane) => this.#runInTime(commands, livePane),
    });
    this.#baseArgs = ["-u", "-S", join(options.stateDir, "tmux.sock"), "-f", "/dev/null"];
  }

  /** What types into panes. */
  readonly typist: Typist;

  get version(): string | null {
    return this.#versionText;
  }

  /** Milliseconds since tmux last answered, null while it does. */
  downForMs(now = Date.now()): number | null {
    if (this.#downSince !== null) return now - this.#downSince;
    const stalledMs = this.#client?.stalledMs(now) ?? 0;
    return stalledMs > 2_000 ? stalledMs : null;
  }

  /**
   * Starts or finds the server and connects. Where tmux is there but does not answer, this returns all the same
   * and goes on trying in the background.
   * @throws Error where tmux is missing or too old.
   */
  async start(): Promise<void> {
    try {
      const { stdout } = await run(this.#tmux, ["-V"], { env: this.#options.env, timeout: 5_000 });
      this.#versionText = stdout.trim();
    } catch (cause) {
      throw new Error(`tmux can't be run: ${errorText(cause)}. Install it (apt-get install tmux).`, {
        cause,
      });
    }
    if (!isTmuxAtLeast(this.#versionText, OLDEST_TMUX)) {
      throw new Error(`tmux ${OLDEST_TMUX} or newer is needed, this is ${this.#versionText}.`);
    }
    this.typist.removeLeftFiles();
    try {
      await this.#connect();
    } catch (error) {
      this.#options.log.error({ err: error }, "tmux does not come up; still trying");
      this.#loop = this.#reconnect();
    }
  }

  /** Disconnects. The server and all sessions go on. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await this.#client?.close();
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
    const [created = []] = await this.#runInTime([
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
    await this.#run([pipeCommand(paneId, paths)]);
  }

  /** Runs another program in a pane whose process has ended; the log goes on. */
  async respawn(
    paneId: string,
    argv: readonly string[],
    /** Where the log has lost its writer: the new one is there before the first byte. */
    newSink?: { logPath: string; sinkPidPath: string },
  ): Promise<{ panePid: number; tty: string }> {
    const replies = await this.#runInTime([
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
    const [lines = []] = await this.#run([quoteCommand(["list-panes", "-a", ...filter, "-F", PANE_FORMAT])]);
    return lines.map(parsePane).filter((pane) => pane.session !== CTL_SESSION);
  }

  /**
   * Makes tmux collect every ended child: before 3.6, with utempter, it can miss one and then never says how the
   * pane's process ended.
   */
  async collectChildren(): Promise<void> {
    await this.#run(["run-shell true"]);
  }

  /** What the screen shows now; `ansi` keeps colours as SGR sequences, and coloured bars to their ends. */
  async captureScreen(
    paneId: string,
    format: "text" | "ansi",
  ): Promise<{ screen: string; cursor: { x: number; y: number }; alternate: boolean; title: string }> {
    // The title raw, never `#{E:…}`: a program chooses it. It stands last, since it may hold spaces.
    const stateFormat = "#{cursor_x} #{cursor_y} #{alternate_on} #{pane_title}";
    const [state = [], lines = []] = await this.#runSealed([
      quoteCommand(["display-message", "-p", "-t", paneId, stateFormat]),
      quoteCommand(["capture-pane", "-p", ...(format === "ansi" ? ["-e", "-N"] : []), "-t", paneId]),
    ]);
    const [x = "0", y = "0", alternate = "0", ...title] = state.join(" ").split(" ");
    const shown = this.#withoutTombstone(lines);
    return {
      screen: (format === "text" ? shown.map((line) => line.trimEnd()) : shown).join("\n"),
      cursor: { x: Number(x), y: Number(y) },
      alternate: alternate === "1",
      title: title.join(" "),
    };
  }

  async findSize(paneId: string): Promise<{ cols: number; rows: number }> {
    const [lines = []] = await this.#run([
      quoteCommand(["display-message", "-p", "-t", paneId, "#{pane_width} #{pane_height}"]),
    ]);
    const [cols = 0, rows = 0] = (lines[0] ?? "").split(" ").map(Number);
    return { cols, rows };
  }

  async resize(name: string, { cols, rows }: { cols: number; rows: number }): Promise<void> {
    await this.#runInTime([
      quoteCommand(["resize-window", "-t", `=${name}:`, "-x", String(cols), "-y", String(rows)]),
    ]);
  }

  /** The last lines of history and screen as text, wrapped lines joined. */
  async captureText(paneId: string, historyLines: number): Promise<string> {
    const [lines = []] = await this.#runSealed([
      quoteCommand(["capture-pane", "-p", "-J", "-S", `-${historyLines}`, "-t", paneId]),
    ]);
    return this.#withoutTombstone(lines)
      .map((line) => line.trimEnd())
      .join("\n");
  }

  #withoutTombstone(lines: readonly string[]): readonly string[] {
    const isThere = !isTmuxAtLeast(this.#versionText ?? "", "3.3") && TOMBSTONE.test(lines.at(-1) ?? "");
    return isThere ? lines.with(-1, "") : lines;
  }

  /** Ends a session; no session of that name is no error. Its sink sees the end of its input and exits. */
  async killSession(name: string): Promise<void> {
    try {
      await this.#run([quoteCommand(["kill-session", "-t", `=${name}`])]);
    } catch (error) {
      if (!(error instanceof TmuxError && /can't find session/.test(error.message))) throw error;
    }
  }

  /** A round trip: the server has gone through its event loop when this returns. */
  async ping(): Promise<void> {
    await this.#run(["display-message -p x"]);
  }

  /** What tmux does not answer, or answers too late, may have been carried out or may be yet. */
  #run(commands: readonly string[]): Promise<string[][]> {
    return this.#ask((client) => client.run(commands));
  }

  /** For what a program chose: nothing that it prints can end the reply. */
  #runSealed(commands: readonly string[]): Promise<string[][]> {
    return this.#ask((client) => client.runSealed(commands));
  }

  /** For what types or starts something: it happens in time or, but for a server that dies in its midst, never. */
  #runInTime(commands: readonly string[], livePane?: string): Promise<string[][]> {
    return this.#ask((client) => client.runInTime(commands, livePane));
  }

  async #ask(work: (client: ControlClient) => Promise<string[][]>): Promise<string[][]> {
    const client = this.#client;
    const stalledMs = client?.stalledMs(Date.now()) ?? 0;
    if (!client || stalledMs > 2_000) throw this.#unavailable();
    const startedAt = performance.now();
    try {
      const replies = await work(client);
      this.#options.onCommand?.((performance.now() - startedAt) / 1_000);
      return replies;
    } catch (error) {
      if (error instanceof TmuxUnavailable) throw this.#unavailable(error);
      throw error;
    }
  }

  #unavailable(cause?: unknown): AppError {
    const seconds = Math.round((this.downForMs() ?? 0) / 1_000);
    const since = seconds > 0 ? ` for ${seconds} s` : "";
    return new AppError("unavailable", `tmux does not answer${since}; it is being looked after, try again.`, {
      cause,
    });
  }

  async #connect(): Promise<void> {
    await this.#findLostSocket();
    ControlClient.killStrays(this.#baseArgs);
    await this.#startServer();
    const client = new ControlClient({
      tmux: this.#tmux,
      baseArgs: this.#baseArgs,
      env: this.#options.env,
      cwd: this.#options.stateDir,
      onNotification: (line) => {
        if (/^%(sessions-changed|unlinked-window-(add|close))/.test(line)) this.#options.onChange();
      },
      onExit: (reason) => this.#onExit(client, reason),
    });
    this.#client = client;
    try {
      // The very first line: a buffer of a long input that comes meanwhile is not among them.
      const [shown = [], buffers = []] = await client.run(
        ["display-message -p '#{pid}'", "list-buffers -F '#{buffer_name}'"],
        5_000,
      );
      this.typist.noteBuffers(buffers);
      writeFileSync(this.#pidFile, `${shown[0] ?? ""}\n`, { mode: 0o600 });
      await client.run(["set-option -g remain-on-exit-format ''"]).catch(ifRefused); // new in 3.3
      await client.run(["set-option -g allow-passthrough off"]).catch(ifRefused); // new in 3.3
      for (const [name, value] of Object.entries(this.#options.env)) {
        await client.run([quoteCommand(["set-environment", "-g", name, value])]);
      }
      await this.typist.dropUnpasted();
      await this.#options.onConnected();
      if (this.#client !== client) throw new TmuxUnavailable("tmux ended again at once");
    } catch (error) {
      this.#client = undefined;
      await client.close();
      throw error;
    }
    this.#downSince = null;
  }

  #onExit(client: ControlClient, reason: string): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    // While it was not up yet, whoever is connecting sees the failure and tries again.
    if (this.#stop.signal.aborted || this.#downSince !== null) return;
    this.#downSince = Date.now();
    this.#options.log.error({ reason }, "lost the tmux server; starting it again");
    this.#options.onLost?.();
    this.#loop = this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    for (let waitMs = 50; !this.#stop.signal.aborted; waitMs = Math.min(waitMs * 2, 2_000)) {
      try {
        await this.#connect();
        this.#options.log.info("tmux is back");
        return;
      } catch (error) {
        this.#options.log.warn({ err: error }, "tmux does not come up yet");
        await pause(waitMs, this.#stop.signal);
      }
    }
  }

  /** One call, safe to repeat: a running server gets its settings again and refuses what comes after them. */
  async #startServer(): Promise<void> {
    const settings = [
      "start-server",
      "set -s exit-empty off",
      "set -g remain-on-exit on",
      "set -g history-limit 2000",
      "set -g status off",
      "set -g default-terminal tmux-256color",
      "set -s set-clipboard off",
      "set -s escape-time 10",
      "set -g prefix None",
      "set -g prefix2 None",
    ].map((command) => command.split(" "));
    const commands = [
      ...settings,
      ["set", "-g", "update-environment", ""],
      ["new-session", "-d", "-s", CTL_SESSION, "-x", "80", "-y", "24", "exec sleep 2147483647"],
      // Last, since they fail where it was done before.
      ["unbind-key", "-a", "-T", "prefix"],
      ["unbind-key", "-a", "-T", "root"],
    ];
    const args = commands.flatMap((command, i) => (i === 0 ? command : [";", ...command]));
    try {
      await run(this.#tmux, [...this.#baseArgs, ...args], {
        env: this.#options.env,
        cwd: this.#options.stateDir,
        timeout: 2_500,
        killSignal: "SIGKILL",
      });
    } catch (error) {
      if (!/duplicate session: _ctl|table \w+ doesn't exist/.test(errorText(error))) throw error;
    }
  }

  get #pidFile(): string {
    return join(this.#options.stateDir, "tmux.pid");
  }

  /** A deleted socket file would hide a living server; it makes the file anew on SIGUSR1. */
  async #findLostSocket(): Promise<void> {
    const socket = join(this.#options.stateDir, "tmux.sock");
    if (existsSync(socket) || !existsSync(this.#pidFile)) return;
    const pid = Number(readFileSync(this.#pidFile, "utf8"));
    const commandFile = `/proc/${pid}/cmdline`;
    if (!Number.isInteger(pid) || pid <= 1 || !existsSync(commandFile)) return;
    if (!readFileSync(commandFile, "utf8").includes(socket)) return;
    process.kill(pid, "SIGUSR1");
    for (let waitedMs = 0; waitedMs < 1_000; waitedMs += 20) {
      if (existsSync(socket)) return;
      await pause(20, this.#stop.signal);
    }
    // A second server beside it would take its place and nobody would see its sessions again.
    if (existsSync(commandFile)) throw new Error(`the tmux server ${pid} lives but has no socket`);
  }
}

/** The sink: it appends to the log until its input ends. Both paths are expanded by tmux and then by a shell. */
function pipeCommand(target: string, paths: { logPath: string; sinkPidPath: string }): string {
  for (const path of [paths.logPath, paths.sinkPidPath]) {
    if (!/^[A-Za-z0-9/_.-]+$/.test(path)) throw new Error(`unsafe path: ${path}`);
  }
  const sink = `umask 077; echo $$ > ${paths.sinkPidPath}; exec cat >> ${paths.logPath}`;
  return quoteCommand(["pipe-pane", "-t", target, sink]);
}

function parsePane(line: string): Pane {
  const [paneId = "", pid = "", dead = "", code = "", signal = "", pipe = "", tty = "", ...session] =
    line.split("|");
  return {
    session: session.join("|"),
    paneId,
    pid: Number(pid),
    isDead: dead === "1",
    exitCode: code === "" ? undefined : Number(code),
    signal: signal === "" ? undefined : Number(signal),
    isPiped: pipe === "1",
    tty,
  };
}
