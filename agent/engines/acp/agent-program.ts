/** The agent's own process, in a process group of its own, and what it last said on its standard error. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { Printed } from "../command/printed.ts";

const MAX_ERROR_BYTES = 8 * 1024;
const SHOWN_LINES = 8;
const TERMINATE_MS = 1_500;

export class AgentProgram {
  readonly input: Writable;
  readonly output: Readable;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
  readonly #name: string;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #errors = new Printed(MAX_ERROR_BYTES);

  constructor(program: string, args: readonly string[], dir: string, env: NodeJS.ProcessEnv) {
    this.#name = program.split("/").at(-1) ?? program;
    this.#child = spawn(program, [...args], {
      cwd: dir,
      env,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.input = this.#child.stdin;
    this.output = this.#child.stdout;
    this.#child.stderr.on("data", (chunk: Buffer) => this.#errors.push(chunk));
    this.ended = new Promise((resolve) => {
      this.#child.once("error", (error) => resolve(`${this.#name} can't be started: ${error.message}`));
      this.#child.once("exit", (code, signal) => {
        const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
        // Its last words may still be in the pipe. A process that it left behind may hold the pipe open for ever.
        const tell = () => resolve(`${this.#name} ${how}`);
        this.#child.once("close", tell);
        setTimeout(tell, 200);
      });
    });
  }

  /** The last lines of its standard error, each on a line of its own; empty if there are none. */
  lastWords(): string {
    return this.#errors.text().split("\n").slice(-SHOWN_LINES).join("\n").trim();
  }

  /** Ends it, with a moment to save what it has, and whatever is left of its process group. */
  async end(): Promise<void> {
    this.#child.stdin.end();
    this.#signal("SIGTERM");
    const timer = setTimeout(() => this.#signal("SIGKILL"), TERMINATE_MS);
    await this.ended;
    clearTimeout(timer);
    this.kill();
  }

  kill(): void {
    this.#signal("SIGKILL");
  }

  #signal(name: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // nothing is left of it
    }
  }
}
