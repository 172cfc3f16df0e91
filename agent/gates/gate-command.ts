/** A command that decides at a gate: 0 lets the agent go on, and what it prints is told. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { errorText } from "../../shared/errors.ts";
import type { Env } from "../engine.ts";
import { signal } from "../process/orphans.ts";
import type { Command } from "../process/sandbox.ts";

/** The last that it prints is kept. */
const MAX_WORDS = 4_000;
/** The line is in a variable: arguments are in the list of processes, which everybody on the machine can read. */
const VARIABLE = "THREADMUX_GATE_COMMAND";
const RUN = `eval "unset ${VARIABLE}\n$${VARIABLE}"`;

export interface GateCommandOptions {
  command: string;
  /** On its standard input. */
  input: string;
  /** Absolute. */
  dir: string;
  /** The engine's environment with the gates' marker in place of the engine's. */
  env: Env;
  /** How it is started: in the sandbox, if there is one. */
  keep: (command: Command) => Command;
  timeoutSeconds: number;
  /** It has ended. */
  onEnd: () => void;
}

/** `code` is null if the command could not be run. `killed`: a signal has ended it, so it has decided nothing. */
export type GateCommandEnd = { code: number | null; words: string } | "timeout" | "killed";
/** A sandbox reports that a signal ended its process by an exit code above this one. */
const SIGNAL_CODES = 128;

export class GateCommand {
  #end: GateCommandEnd | undefined;
  #pid: number | undefined;

  constructor(options: GateCommandOptions) {
    const settle = (end: GateCommandEnd) => {
      if (this.#end !== undefined) return;
      this.#end = end;
      this.kill(); // what it left running in its group
      options.onEnd();
    };
    try {
      this.#start(options, settle);
    } catch (error) {
      settle({ code: null, words: errorText(error) });
    }
  }

  /** Undefined while it runs. */
  get end(): GateCommandEnd | undefined {
    return this.#end;
  }

  /** With all of its process group. */
  kill(): void {
    if (this.#pid !== undefined) signal(-this.#pid, "SIGKILL");
  }

  #start(options: GateCommandOptions, settle: (end: GateCommandEnd) => void): void {
    const { command, input, dir, env, keep, timeoutSeconds } = options;
    if (!existsSync(dir)) throw new Error(`${dir} is not there`);
    const line: Omit<Command, "cwd"> = {
      program: "/bin/bash",
      args: ["-c", RUN],
      env: { ...env, [VARIABLE]: command },
    };
    const kept = keep({ ...line, cwd: dir });
    const child = spawn(kept.program, kept.args, {
      ...{ cwd: kept.cwd, env: kept.env, detached: true },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#pid = child.pid;
    let words = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text: string) => {
        words = (words + text).slice(-MAX_WORDS);
      });
    }
    const timer = setTimeout(() => settle("timeout"), timeoutSeconds * 1_000);
    child.once("error", (error) => settle({ code: null, words: error.message }));
    // A background process that the command left may hold its output open for ever.
    child.once("exit", (code) => {
      clearTimeout(timer);
      const isKilled = code === null || (kept.isWrapped === true && code > SIGNAL_CODES);
      setImmediate(() => settle(isKilled ? "killed" : { code, words }));
    });
    child.stdin.on("error", () => undefined); // it need not read what waits
    child.stdin.end(input);
  }
}
