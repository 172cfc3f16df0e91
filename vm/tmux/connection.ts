/** The connection to our tmux server: made, kept, made again; every command goes through it. */
import { AppError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { retry } from "../../shared/retry.ts";
import { ControlClient, ifRefused, TmuxUnavailable } from "./control-client.ts";
import { quoteCommand } from "./protocol.ts";
import {
  baseArgsOf,
  findLostSocket,
  findVersion,
  notePid,
  startServer,
  type TmuxProgram,
} from "./server-process.ts";

export interface ConnectionOptions {
  /** Holds the socket; the server's working directory, so that log paths can be relative and need no quoting. */
  stateDir: string;
  /** The environment of every program in every pane. */
  env: Record<string, string>;
  tmux?: string;
  log: Log;
}

export interface ConnectionListeners {
  /**
   * Runs after each (re)connection, before the server counts as up.
   * @param buffers the names of all buffers that tmux held when it was connected.
   */
  onConnected: (buffers: readonly string[]) => Promise<void>;
  /** A session or window came or went. */
  onChange: () => void;
  /** The server is gone, or the connection to it. */
  onLost: () => void;
  /** A command was answered after so many seconds. */
  onCommand: (seconds: number) => void;
}

/** A server that has owed an answer for longer than this counts as away. */
const STALLED_MS = 2_000;
/**
 * What a server may take to be found or started, at first and at most; each attempt that fails doubles it. Its answers
 * to a new client may take twice as long.
 */
const FIRST_CONNECT_MS = 2_500;
const MAX_CONNECT_MS = 20_000;
/** What waits so long for a slow server is still sooner than the client is given up. */
const PATIENCE_MS = 9_000;

export class TmuxConnection {
  readonly #program: TmuxProgram;
  readonly #log: Log;
  readonly #stop = new AbortController();
  #listeners: ConnectionListeners | undefined;
  #client: ControlClient | undefined;
  #downSince: number | null = Date.now();
  #version: string | null = null;
  #serverPid: number | undefined;
  #loop: Promise<void> = Promise.resolve();
  #connectMs = FIRST_CONNECT_MS;

  constructor({ stateDir, env, tmux = "tmux", log }: ConnectionOptions) {
    this.#program = { tmux, baseArgs: baseArgsOf(stateDir), env, stateDir };
    this.#log = log;
  }

  /** What `tmux -V` says; null before {@link start}. */
  get version(): string | null {
    return this.#version;
  }

  /** The process id of the server that was connected last. */
  get serverPid(): number | undefined {
    return this.#serverPid;
  }

  /** Milliseconds since tmux last answered, null while it does. */
  downForMs(now = Date.now()): number | null {
    if (this.#downSince !== null) return now - this.#downSince;
    const stalledMs = this.#client?.stalledMs(now) ?? 0;
    return stalledMs > STALLED_MS ? stalledMs : null;
  }

  /**
   * Starts or finds the server and connects. If tmux is there but does not answer, this returns all the same and goes
   * on trying in the background.
   * @throws Error in words for a person if tmux is missing or too old.
   */
  async start(listeners: ConnectionListeners): Promise<void> {
    this.#listeners = listeners;
    this.#version = await findVersion(this.#program);
    try {
      await this.#connect();
    } catch (error) {
      this.#log.error({ err: error }, "tmux does not come up; still trying");
      this.#loop = this.#reconnect();
    }
  }

  /** Disconnects. The server and all sessions go on. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await this.#client?.close();
  }

  /** What tmux does not answer, or answers too late, may have been carried out or may be yet. */
  run(commands: readonly string[]): Promise<string[][]> {
    return this.#ask((client) => client.run(commands));
  }

  /** {@link run} for what mends a server that is slow: it is waited for, however many others wait too. */
  runPatiently(commands: readonly string[]): Promise<string[][]> {
    return this.#ask((client) => client.run(commands, PATIENCE_MS), PATIENCE_MS);
  }

  /** For what a program chose: nothing that it prints can end the reply. */
  runSealed(commands: readonly string[]): Promise<string[][]> {
    return this.#ask((client) => client.runSealed(commands));
  }

  /** For what types or starts something: tmux does it in time or never, unless the server dies in its midst. */
  runInTime(commands: readonly string[], livePane?: string): Promise<string[][]> {
    return this.#ask((client) => client.runInTime(commands, livePane));
  }

  async #ask(
    work: (client: ControlClient) => Promise<string[][]>,
    maxStalledMs = STALLED_MS,
  ): Promise<string[][]> {
    const client = this.#client;
    const stalledMs = client?.stalledMs(Date.now()) ?? 0;
    if (!client || stalledMs > maxStalledMs) throw this.#unavailable();
    const startedAt = performance.now();
    try {
      const replies = await work(client);
      this.#listeners?.onCommand((performance.now() - startedAt) / 1_000);
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

  /**
   * A program that fills a large screen holds the server for up to 800 ms of its time at each of our steps, so they are
   * few, and each attempt has more time than the one before.
   */
  async #connect(): Promise<void> {
    const timeoutMs = this.#connectMs;
    this.#connectMs = Math.min(timeoutMs * 2, MAX_CONNECT_MS);
    await findLostSocket(this.#program, this.#stop.signal);
    ControlClient.killStrays(this.#program.baseArgs);
    await startServer(this.#program, timeoutMs, this.#stop.signal);
    const client = new ControlClient({
      ...this.#program,
      cwd: this.#program.stateDir,
      onNotification: (line) => {
        if (/^%(sessions-changed|unlinked-window-(add|close))/.test(line)) this.#listeners?.onChange();
      },
      onExit: (reason) => this.#onExit(client, reason),
    });
    this.#client = client;
    try {
      const run = (...commands: string[]) => client.run(commands, timeoutMs * 2);
      const [[shown = [], buffers = []]] = await Promise.all([
        // The very first line: the buffer of a long input that comes meanwhile is not in this list.
        run("display-message -p '#{pid}'", "list-buffers -F '#{buffer_name}'"),
        run("set-option -g remain-on-exit-format ''").catch(ifRefused), // new in 3.3
        run("set-option -g allow-passthrough off").catch(ifRefused), // new in 3.3
        ...Object.entries(this.#program.env).map(([name, value]) =>
          run(quoteCommand(["set-environment", "-g", name, value])),
        ),
      ]);
      this.#serverPid = Number(shown[0]);
      notePid(this.#program, shown[0] ?? "");
      await this.#listeners?.onConnected(buffers);
      if (this.#client !== client) throw new TmuxUnavailable("tmux ended again at once");
    } catch (error) {
      this.#client = undefined;
      await client.close();
      throw error;
    }
    this.#downSince = null;
    this.#connectMs = FIRST_CONNECT_MS;
  }

  #onExit(client: ControlClient, reason: string): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    // Before it was up, whoever is connecting sees the failure and tries again.
    if (this.#stop.signal.aborted || this.#downSince !== null) return;
    this.#downSince = Date.now();
    this.#log.error({ reason }, "lost the tmux server; starting it again");
    this.#listeners?.onLost();
    this.#loop = this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    const connect = async () => {
      await this.#connect();
      this.#log.info("tmux is back");
    };
    await retry({ firstMs: 50, longestMs: 2_000, signal: this.#stop.signal }, connect, (error) => {
      this.#log.warn({ err: error }, "tmux does not come up yet");
    });
  }
}
