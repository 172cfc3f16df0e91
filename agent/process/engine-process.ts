/** One process of the engine: started here or found alive, fed through its FIFO, read from its file. */
import { spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  rmSync,
} from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import {
  engineErrorPath,
  engineInputPath,
  engineOutputPath,
  engineSentPath,
} from "../../shared/agent/paths.ts";
import { pause } from "../../shared/lifecycle.ts";
import { LineFile } from "../folder/line-file.ts";
import { inDirectory } from "./directory.ts";
import { EngineInput, isEngineAlive, openForEngine, takeFifo } from "./fifo.ts";
import { killMarked, listMarked, signal } from "./orphans.ts";
import { type Command, isWrapper } from "./sandbox.ts";

/** A Write of 1 MB comes as one line, several times escaped; images too. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** How many processes' outputs are kept: what they printed tells people why one died. */
const KEPT_OUTPUTS = 3;
const END_TIMEOUT_MS = 3_000;
const ERROR_BYTES = 2_000;

/** If its directory has become one with a link in it, nothing is started. */
export type ProcessPlan = Command;

export class EngineProcess {
  readonly generation: number;
  /** This runner has started it. */
  readonly isOurs: boolean;
  readonly output: LineFile;
  readonly #folder: string;
  /** Undefined if it was found dead. */
  readonly #input: EngineInput | undefined;
  /** Only of a process that this runner started. */
  #exit: { code: number | null; signal: string | null } | undefined;

  /** @param onEnd is called when it ends, if it was started by this runner */
  static start(folder: string, generation: number, plan: ProcessPlan, onEnd: () => void): EngineProcess {
    const fifo = engineInputPath(folder, generation);
    takeFifo(folder, fifo);
    const stdin = openForEngine(fifo);
    const stdout = openSync(engineOutputPath(folder, generation), "a", 0o600);
    const stderr = openSync(engineErrorPath(folder, generation), "a", 0o600);
    try {
      const child = inDirectory(plan.cwd, (cwd) =>
        spawn(plan.program, plan.args, {
          cwd,
          env: plan.env,
          detached: true, // a session of its own: it survives the pane's end
          stdio: [stdin, stdout, stderr],
        }),
      );
      const input = EngineInput.open(fifo);
      if (!input) throw new Error(`nobody reads ${fifo}`);
      const engine = new EngineProcess(folder, generation, input, true);
      const end = (code: number | null, name: string | null) => {
        const isSignal = plan.isWrapped && code !== null && code > 128;
        engine.#exit ??= isSignal ? { code: null, signal: nameOf(code - 128) } : { code, signal: name };
        onEnd();
      };
      child.on("error", () => end(null, null));
      child.on("exit", end);
      child.unref();
      return engine;
    } finally {
      for (const fd of [stdin, stdout, stderr]) closeSync(fd);
    }
  }

  /** The process of another runner, alive or dead: its output is read from the start. */
  static attach(folder: string, generation: number): EngineProcess {
    return new EngineProcess(
      folder,
      generation,
      EngineInput.open(engineInputPath(folder, generation)),
      false,
    );
  }

  private constructor(folder: string, generation: number, input: EngineInput | undefined, isOurs: boolean) {
    this.#folder = folder;
    this.generation = generation;
    this.isOurs = isOurs;
    this.#input = input;
    this.output = new LineFile(engineOutputPath(folder, generation), 0, MAX_LINE_BYTES, true);
  }

  get isBlocked(): boolean {
    return this.#input?.isBlocked ?? false;
  }

  get exit(): { code: number | null; signal: string | null } | undefined {
    return this.#exit;
  }

  get isAlive(): boolean {
    if (!this.#input || this.#exit) return false;
    return isEngineAlive(engineInputPath(this.#folder, this.generation));
  }

  send(line: string): void {
    this.#input?.send(line);
  }

  flush(): void {
    this.#input?.flush();
  }

  /**
   * Ends it and all that it started, as a crash would: told to end, it would take back its asks and call what runs a
   * failure. It goes first, so that it does not write down the end of its children.
   */
  async kill(): Promise<void> {
    for (const pid of this.#readers()) signal(pid, "SIGKILL");
    await killMarked(this.#folder);
    const deadline = Date.now() + END_TIMEOUT_MS;
    while (this.isAlive && Date.now() < deadline) await pause(5);
  }

  /** Tells the engine alone to end, as a shutdown of the machine would. */
  terminate(): void {
    const pids = this.#readers();
    for (const pid of pids) if (!isWrapper(pid, pids)) signal(pid, "SIGTERM");
  }

  /** The engine, and what of a sandbox stands before it. */
  #readers(): number[] {
    const fifo = engineInputPath(this.#folder, this.generation);
    return listMarked(this.#folder).filter((pid) => readsFrom(pid, fifo));
  }

  /** The end of what it wrote on its standard error. */
  lastWords(): string {
    const path = engineErrorPath(this.#folder, this.generation);
    if (!existsSync(path)) return "";
    const fd = openSync(path, "r");
    try {
      const { size } = fstatSync(fd);
      const tail = Buffer.alloc(Math.min(size, ERROR_BYTES));
      readSync(fd, tail, 0, tail.length, size - tail.length);
      return tail.toString("utf8").trim();
    } finally {
      closeSync(fd);
    }
  }

  /** To be called when it is dead, and nobody is to read what it printed. */
  removeOutput(): void {
    rmSync(engineOutputPath(this.#folder, this.generation), { force: true });
    rmSync(engineErrorPath(this.#folder, this.generation), { force: true });
    rmSync(engineSentPath(this.#folder, this.generation), { force: true });
  }

  /** To be called when it is dead. */
  close(): void {
    this.#input?.close();
    this.output.close();
    rmSync(engineInputPath(this.#folder, this.generation), { force: true });
  }
}

/** Removes what processes of the engine have printed that ended long ago: the transcript has all of it. */
export function removeOldOutputs(folder: string, generation: number): void {
  for (const name of readdirSync(folder)) {
    const [, ended] = /^engine\.(\d+)\.(?:jsonl|err|sent)$/.exec(name) ?? [];
    if (ended !== undefined && Number(ended) <= generation - KEPT_OUTPUTS) rmSync(join(folder, name));
  }
}

function nameOf(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;
}

/** Whether this is the engine itself, not something that it started. */
function readsFrom(pid: number, fifo: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/fd/0`) === fifo;
  } catch {
    return false; // gone meanwhile
  }
}
