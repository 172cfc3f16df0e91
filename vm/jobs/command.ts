/** A job's command: without a terminal and a model, bounded in time and output. */
import { type ChildProcess, spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { cleanLines } from "../../shared/clean-text.ts";
import { killMarked } from "../processes/kill-marked.ts";

/** How much of the end of its output is kept. */
const MAX_OUTPUT_BYTES = 16 * 1024;

/** Its errors stand among its output, where they were printed. */
const BOTH = 'exec "$0" -c "$1" 2>&1';

/** In the environment of everything that a run's command starts. */
export function runMarker(stateDir: string, run: string): string {
  return `THREADMUX_JOB_RUN=${stateDir}:${run}`;
}

export interface CommandEnd {
  /** Null if it was ended. */
  exitCode: number | null;
  isOutOfTime: boolean;
  output: string;
}

export interface CommandOptions {
  path: string;
  env: Record<string, string>;
  marker: string;
  /** Undefined: as long as it takes. */
  seconds: number | undefined;
  /** It is ended when this fires, and the promise rejects. */
  signal: AbortSignal;
}

export interface Program {
  program: string;
  args: string[];
}

/** A shell command line as a program. */
export function shellOf(command: string, env: Record<string, string>): Program {
  return { program: "/bin/sh", args: ["-c", BOTH, env["SHELL"] ?? "/bin/sh", command] };
}

/** Runs a program, and ends all that it has started. @throws Error if it can't be started */
export async function runCommand({ program, args }: Program, options: CommandOptions): Promise<CommandEnd> {
  const { path, env, marker, seconds, signal } = options;
  const [name = "", ...value] = marker.split("=");
  const child = spawn(program, args, {
    cwd: path,
    env: { ...env, [name]: value.join("=") },
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  const output = new Tail(MAX_OUTPUT_BYTES);
  child.stdout.on("data", (bytes: Buffer) => output.add(bytes));
  let isOutOfTime = false;
  const end = () => void killMarked(marker).catch(() => child.kill("SIGKILL"));
  const timer =
    seconds === undefined
      ? undefined
      : setTimeout(() => {
          isOutOfTime = true;
          end();
        }, seconds * 1_000);
  signal.addEventListener("abort", end);
  try {
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const exitCode = await exitOf(child);
    // What it left behind in the background would go on unseen, and hold its output open.
    await killMarked(marker);
    await closed;
    return { exitCode, isOutOfTime, output: cleanLines(stripVTControlCharacters(output.bytes.toString())) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
}

class Tail {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.#size += bytes.length;
    if (this.#size < 2 * this.#maxBytes) return;
    this.#parts = [this.bytes];
    this.#size = this.#parts[0]?.length ?? 0;
  }

  get bytes(): Buffer {
    const all = Buffer.concat(this.#parts);
    return all.subarray(Math.max(0, all.length - this.#maxBytes));
  }
}
