/** An engine's program as a runner holds it: fed through a FIFO, its output a file, in a session of its own. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, constants, existsSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { PROTOCOL_FLAGS } from "../../agent/engines/claude/launch.ts";
import { listProcesses, signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

export type Line = Record<string, unknown> & { type: string };

export interface ProgramOptions {
  /** The executable and what stands before the protocol's flags. */
  command: readonly [string, ...string[]];
  /** Holds FIFO and output; a generation each start. */
  folder: string;
  cwd: string;
  env: Record<string, string>;
  args: readonly string[];
}

export class Program {
  readonly #child: ChildProcess;
  readonly #input: number;
  readonly #output: string;
  readonly #errors: string;
  readonly #marker: string;
  /** The exit code, or the signal's name. */
  readonly ended: Promise<number | string>;

  constructor({ command: [file, ...before], folder, cwd, env, args }: ProgramOptions) {
    mkdirSync(folder, { recursive: true });
    const generation = generationOf(folder);
    const fifo = join(folder, `stdin.${generation}`);
    this.#output = join(folder, `engine.${generation}.jsonl`);
    this.#errors = join(folder, `stderr.${generation}`);
    this.#marker = `ENGINE_FOLDER=${folder}`;
    execFileSync("mkfifo", [fifo]);
    const input = openSync(fifo, constants.O_RDWR);
    const files = [this.#output, this.#errors].map((path) => openSync(path, "a"));
    this.#child = spawn(file, [...before, ...PROTOCOL_FLAGS, ...args], {
      cwd,
      env: { ...env, ENGINE_FOLDER: folder },
      detached: true,
      stdio: [input, ...files],
    });
    // Opened anew: what the program does to its own end, such as O_NONBLOCK, does not happen to ours.
    this.#input = openSync(fifo, constants.O_WRONLY);
    for (const fd of [input, ...files]) closeSync(fd);
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("exit", (code, name) => resolve(name ?? code ?? -1));
    });
    this.ended.catch(() => undefined); // who awaits it hears of it
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Everything that it has printed, a torn last line left out. */
  lines(): Line[] {
    const text = readFileSync(this.#output, "utf8");
    return text
      .slice(0, text.lastIndexOf("\n") + 1)
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line);
  }

  errors(): string {
    return readFileSync(this.#errors, "utf8");
  }

  send(line: object | string): void {
    writeSync(this.#input, `${typeof line === "string" ? line : JSON.stringify(line)}\n`);
  }

  /** Waits for a line, from the `from`th on, and returns it with the number of the line behind it. */
  async line(what: string, test: (line: Line) => boolean, from = 0): Promise<{ line: Line; next: number }> {
    let hasEnded = false;
    const index = await until(what, () => {
      hasEnded = !this.isAlive;
      const found = this.lines().findIndex((line, at) => at >= from && test(line));
      return found + 1 || hasEnded;
    });
    if (index === true) throw new Error(`it has ended, and so there is no ${what}: ${this.errors()}`);
    return { line: this.lines()[index - 1] as Line, next: index };
  }

  /** Ends it and all that it started; a second call does nothing. */
  async kill(name: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (this.isAlive) signal(this.pid, name);
    await this.ended;
    for (const { pid, environment } of listProcesses()) {
      if (environment.includes(this.#marker)) signal(pid, "SIGKILL");
    }
  }

  close(): void {
    closeSync(this.#input);
  }
}

function generationOf(folder: string): number {
  let generation = 1;
  while (existsSync(join(folder, `stdin.${generation}`))) generation++;
  return generation;
}
