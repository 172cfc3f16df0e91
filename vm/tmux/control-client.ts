/** The one long-lived control-mode client: every tmux command goes through it, nothing is spawned for one. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { killStrays } from "../processes/process-tree.ts";
import { ControlParser } from "./protocol.ts";

/** tmux refused a command; the message is tmux's own. */
export class TmuxError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TmuxError";
  }
}

/** For a `catch`: a refusal by tmux is fine, because the thing is not there or this tmux does not know the command. */
export function ifRefused(error: unknown): void {
  if (!(error instanceof TmuxError)) throw error;
}

/** tmux is away, or did not answer in time. Whether the command was carried out is not known. */
export class TmuxUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TmuxUnavailable";
  }
}

export interface ControlClientOptions {
  tmux: string;
  /** Arguments before the command: `-S`, `-f`, … */
  baseArgs: readonly string[];
  env: Record<string, string>;
  cwd: string;
  /** tmux says that something happened: sessions came or went, a window closed, … */
  onNotification: (line: string) => void;
  /** Called once, when the client has ended for whatever reason. */
  onExit: (reason: string) => void;
}

/** Without a terminal; `no-output`: pane output must not pass here; `ignore-size`: never resizes a window. */
const CONTROL_ARGS = ["-C", "attach-session", "-f", "no-output,ignore-size", "-t", "=_ctl:"];

interface Pending {
  repliesLeft: number;
  lines: string[][];
  resolve: (lines: string[][]) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
  writtenAt: number;
  /** A line that follows the last reply. The reply is over only when this line has come: see {@link ControlParser}. */
  seal: string | undefined;
}

/** If the server has not answered a command for this long, it counts as hung. */
const COMMAND_TIMEOUT_MS = 2_500;
/** If a client has waited this long for an answer, it is killed: a new client may get through. */
const GIVE_UP_MS = 10_000;
const TOO_LATE = "_too_late";
/** A command that always fails: there is no such session, and tmux's refusal names it. */
const failing = (name: string) => `has-session -t =${name}`;

/**
 * Commands are answered in the order they were written. A line may hold several (` ; `): tmux runs them in one
 * pass of its queue, and the first that fails drops the rest, so after an error reply no more come for that line.
 */
export class ControlClient {
  readonly #child: ChildProcess;
  readonly #parser = new ControlParser(() => {
    const head = this.#queue[0];
    return head?.repliesLeft === 1 ? head.seal : undefined;
  });
  readonly #queue: Pending[] = [];
  readonly #options: ControlClientOptions;
  #isOver = false;
  #stderr = "";

  constructor(options: ControlClientOptions) {
    this.#options = options;
    this.#child = spawn(options.tmux, [...options.baseArgs, ...CONTROL_ARGS], {
      env: options.env,
      cwd: options.cwd,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stdout?.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-500);
    });
    this.#child.stdin?.on("error", (error) => this.#end(`writing to tmux failed: ${error.message}`));
    this.#child.on("error", (error) => this.#end(`tmux could not be run: ${error.message}`));
    this.#child.on("close", (code) =>
      this.#end(this.#stderr.trim() || `tmux's control client ended with ${code}`),
    );
  }

  /**
   * Kills the clients of a sidecar that was killed. Nobody reads them, so they can stay for ever, and a tmux server that
   * was told to end waits for them.
   */
  static killStrays(baseArgs: readonly string[]): void {
    killStrays([...baseArgs, ...CONTROL_ARGS]);
  }

  /** How long the oldest unanswered command has waited; 0 if no command waits. */
  stalledMs(now: number): number {
    const head = this.#queue[0];
    return head ? now - head.writtenAt : 0;
  }

  /**
   * Runs commands given as ready lines (see `quoteCommand`), chained on one line.
   * @returns the lines of each command's reply.
   * @throws TmuxError if tmux refused one, TmuxUnavailable if it did not answer.
   */
  run(commands: readonly string[], timeoutMs = COMMAND_TIMEOUT_MS): Promise<string[][]> {
    return this.#write(commands.join(" ; "), commands.length, timeoutMs);
  }

  /**
   * {@link run} for commands that must not take effect after the caller was told that tmux is away. A hung server reads
   * what was written to it when it wakes up. Therefore tmux itself looks at the clock, in whole seconds, before it runs
   * any of the commands.
   * @param livePane a pane whose process must still run: `paste-buffer` into a dead pane crashes tmux.
   * @throws TmuxError also if that process has ended.
   */
  async runInTime(commands: readonly string[], livePane?: string): Promise<string[][]> {
    const deadline = Math.floor((Date.now() + COMMAND_TIMEOUT_MS) / 1_000);
    const condition = `#{<:#{T:#{l:%s}},${deadline}}`;
    const inTime = `if-shell -F "${condition}" { ${commands.join(" ; ")} } { ${failing(TOO_LATE)} }`;
    const line = livePane
      ? `if-shell -F -t ${livePane} "#{pane_dead}" { ${failing("_process_ended")} } { ${inTime} }`
      : inTime;
    const checks = livePane ? 2 : 1; // each has a reply of its own
    try {
      return (await this.#write(line, checks + commands.length, COMMAND_TIMEOUT_MS)).slice(checks);
    } catch (error) {
      if (!(error instanceof TmuxError && error.message.endsWith(TOO_LATE))) throw error;
      throw new TmuxUnavailable("tmux came back too late");
    }
  }

  /**
   * {@link run} for commands of which the last one replies with lines that a program chose. The replies of the commands
   * before it must hold only what we chose.
   */
  async runSealed(commands: readonly string[]): Promise<string[][]> {
    const seal = randomUUID();
    const [replies] = await Promise.all([
      this.#write(commands.join(" ; "), commands.length, COMMAND_TIMEOUT_MS, seal),
      // A line of its own: tmux answers it even if it refused the line before.
      this.#write(`display-message -p ${seal}`, 1, COMMAND_TIMEOUT_MS),
    ]);
    return replies;
  }

  #write(line: string, repliesLeft: number, timeoutMs: number, seal?: string): Promise<string[][]> {
    return new Promise((resolve, reject) => {
      if (this.#isOver) return reject(new TmuxUnavailable("tmux is not running"));
      const pending: Pending = {
        repliesLeft,
        lines: [],
        resolve,
        reject,
        // The entry stays in the queue after its time is up: its reply may still come, and must not be taken for the
        // reply to another command.
        timer: setTimeout(() => {
          pending.timer = setTimeout(() => this.#child.kill("SIGKILL"), GIVE_UP_MS);
          // If this process itself did not get to run, the answer may have come and is read first.
          setImmediate(() => reject(new TmuxUnavailable(`tmux did not answer for ${timeoutMs} ms`)));
        }, timeoutMs),
        writtenAt: Date.now(),
        seal,
      };
      this.#queue.push(pending);
      this.#child.stdin?.write(`${line}\n`);
    });
  }

  /** Detaches; the server and its sessions go on. */
  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined)
      return;
    const closed = new Promise<void>((resolve) => this.#child.once("close", () => resolve()));
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 1_000);
    await closed;
    clearTimeout(timer);
  }

  #read(chunk: Buffer): void {
    for (const event of this.#parser.push(chunk)) {
      if (event.kind === "notification") {
        if (!event.line.startsWith("%exit")) this.#options.onNotification(event.line);
        continue;
      }
      const pending = this.#queue[0];
      if (!pending) continue;
      pending.lines.push(event.lines);
      pending.repliesLeft -= 1;
      if (!event.isError && pending.repliesLeft > 0) continue;
      this.#queue.shift();
      clearTimeout(pending.timer);
      if (event.isError) pending.reject(new TmuxError(event.lines.join(" ")));
      else pending.resolve(pending.lines);
    }
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const pending of this.#queue.splice(0)) {
      clearTimeout(pending.timer);
      pending.reject(new TmuxUnavailable(reason));
    }
    this.#options.onExit(reason);
  }
}
