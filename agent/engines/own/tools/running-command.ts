/** A command that runs, in a process group of its own and with a marker that all of its processes inherit. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { COMMAND_MARKER } from "../../../../shared/agent/markers.ts";
import { findProgram } from "../../../../shared/find-program.ts";
import { pause } from "../../../../shared/lifecycle.ts";
import { hasVariable } from "../../../../shared/process-marker.ts";
import { inDirectory } from "../../../process/directory.ts";
import { CommandOutput } from "./command-output.ts";
import type { ToolContext } from "./tool.ts";
import { ToolError } from "./tool-error.ts";

/** A command that is told to end may do so by itself for so long. */
const TERMINATE_MS = 40;
/** After its end, what it left behind may hold its output for so long. */
const LINGER_MS = 200;
/** Each finds what those that the last one ended have started meanwhile. */
const MAX_SWEEPS = 20;
/** Nothing ends a process that waits for a broken disk. */
const GIVE_UP_MS = 2_000;
/** Linux takes at most 128 KiB for one argument. */
const MAX_COMMAND_BYTES = 100 * 1024;
/** That its input may hold and it has not read. */
const MAX_UNREAD_BYTES = 1024 * 1024;

export interface CommandEnd {
  code: number | null;
  signal: string | null;
  /** It could not be started. */
  problem?: string;
  /** Processes that it had left in its group, and that were ended with it. */
  hadOthers?: boolean;
}

export class RunningCommand {
  readonly output = new CommandOutput();
  readonly end: Promise<CommandEnd>;
  readonly #child: ChildProcess;
  /** No other command of the machine has this marker. */
  readonly #marker = randomUUID();
  #ended: CommandEnd | undefined;
  #ending: Promise<void> | undefined;

  /**
   * @param input whether it gets a standard input that can be written
   * @throws ToolError if it can't be started at all
   */
  constructor(
    command: string,
    { dir, env, inSandbox }: Pick<ToolContext, "dir" | "env" | "inSandbox">,
    input: boolean,
  ) {
    if (command.includes("\0")) throw new ToolError("A command can't have a NUL character in it.");
    if (Buffer.byteLength(command) > MAX_COMMAND_BYTES)
      throw new ToolError("The command is too long: write it into a file, and run that.");
    const shell = findProgram("bash", env["PATH"] ?? "") ?? "/bin/sh";
    // Both outputs are one, so that lines stay in their order.
    const joined = ["-c", 'exec "$@" 2>&1', "sh", shell, "-c", command];
    const { program, args } = inSandbox("/bin/sh", joined);
    this.#child = inDirectory(dir, (cwd) =>
      spawn(program, args, {
        cwd,
        env: { ...env, [COMMAND_MARKER]: this.#marker },
        detached: true, // the leader of a group
        stdio: [input ? "pipe" : "ignore", "pipe", "pipe"],
      }),
    );
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on("data", (chunk: Buffer) => this.output.push(chunk));
    this.#child.stdin?.on("error", () => {}); // it need not read what it is told
    this.end = this.#follow();
  }

  /** Undefined while it runs. */
  get ended(): CommandEnd | undefined {
    return this.#ended;
  }

  /** @returns why it can't be told */
  type(text: string, isLast: boolean): string | undefined {
    const { stdin } = this.#child;
    if (!stdin || stdin.destroyed || stdin.writableEnded) return "its input is closed";
    if (stdin.writableLength > MAX_UNREAD_BYTES) return "it has not read what it was told before";
    if (text !== "") stdin.write(text);
    if (isLast) stdin.end();
    return undefined;
  }

  /** Ends it with all that it has started: soon by itself, or else at once. */
  kill(): Promise<void> {
    this.#ending ??= this.#kill();
    return this.#ending;
  }

  /** When there is no time to wait for anything. */
  killNow(): void {
    if (!this.#ended) this.#signal("SIGKILL");
  }

  async #follow(): Promise<CommandEnd> {
    const child = this.#child;
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const end = await new Promise<CommandEnd>((resolve) => {
      child.once("error", (error) =>
        resolve({ code: null, signal: null, problem: `It can't be started: ${error.message}` }),
      );
      child.once("exit", (code, signal) => resolve({ code, signal }));
    });
    if (end.problem === undefined) {
      const timeout = new AbortController();
      await Promise.race([closed, pause(LINGER_MS, timeout.signal)]);
      timeout.abort();
      if (this.#signal("SIGKILL")) end.hadOthers = true;
      await Promise.race([closed, pause(LINGER_MS)]);
    }
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
    this.#ended = end;
    return end;
  }

  async #kill(): Promise<void> {
    if (this.#ended) return;
    this.#signal("SIGTERM");
    await Promise.race([this.end, pause(TERMINATE_MS)]);
    if (!this.#ended) this.#signal("SIGKILL");
    for (let round = 0; round < MAX_SWEEPS; round++) {
      const left = this.#marked();
      if (left.length === 0) break;
      for (const pid of left) signalOne(pid);
      await pause(2);
    }
    await Promise.race([this.end, pause(GIVE_UP_MS)]);
  }

  /** @returns whether the group has processes */
  #signal(name: NodeJS.Signals): boolean {
    const { pid } = this.#child;
    if (pid === undefined) return false;
    try {
      process.kill(-pid, name);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
      throw error;
    }
  }

  /** The processes that have left the command's group; they still have its marker. */
  #marked(): number[] {
    const marker = `${COMMAND_MARKER}=${this.#marker}`;
    return readdirSync("/proc").flatMap((name) => {
      const pid = /^\d+$/.test(name) ? Number(name) : 0;
      return pid > 0 && pid !== process.pid && hasVariable(pid, marker) ? [pid] : [];
    });
  }
}

function signalOne(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
