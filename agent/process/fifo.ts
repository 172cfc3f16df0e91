/**
 * The engine's standard input. The engine alone holds the FIFO open for reading, so it never sees an end when a
 * runner dies, and "can it be opened for writing?" is "does the engine live?".
 */
import { execFileSync, spawn } from "node:child_process";
import { closeSync, constants, lstatSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

/** In the thread's folder: made when a runner ends, so that the next start is spared a process. */
const SPARE = "stdin.spare";

export function makeFifo(path: string): void {
  execFileSync("mkfifo", ["-m", "600", path], { stdio: ["ignore", "ignore", "pipe"] });
}

/** The folder's spare FIFO under this name, or a new one. */
export function takeFifo(folder: string, path: string): void {
  const spare = join(folder, SPARE);
  if (isFifo(spare)) {
    renameSync(spare, path);
    if (!isEngineAlive(path)) return;
    rmSync(path); // whoever reads it is no engine of ours
  }
  makeFifo(path);
}

/**
 * Begins to make the folder's spare FIFO, unless it is there: the first start of a thread need not wait for that.
 * @returns resolves when it is made, or can't be
 */
export function beginSpareFifo(folder: string): Promise<void> {
  const spare = join(folder, SPARE);
  if (isFifo(spare)) return Promise.resolve();
  const child = spawn("mkfifo", ["-m", "600", spare], { stdio: "ignore" });
  return new Promise((resolve) => {
    child.once("error", () => resolve());
    child.once("exit", () => resolve());
  });
}

/** Nothing is lost if it can't be made: the next start makes its own. */
export function keepSpareFifo(folder: string): void {
  const spare = join(folder, SPARE);
  if (isFifo(spare)) return;
  try {
    makeFifo(spare);
  } catch {
    // something else has the name, or the disk is full
  }
}

function isFifo(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFIFO() ?? false;
}

/** A descriptor for the engine's standard input: read-write, so that it is its own writer. */
export function openForEngine(path: string): number {
  return openSync(path, constants.O_RDWR);
}

/** Whether a process has it open for reading. */
export function isEngineAlive(path: string): boolean {
  const fd = tryOpen(path);
  if (fd === undefined) return false;
  closeSync(fd);
  return true;
}

export class EngineInput {
  readonly #fd: number;
  #waiting: Buffer[] = [];
  #isBroken = false;

  /** Undefined if nobody reads: the engine is dead. */
  static open(path: string): EngineInput | undefined {
    const fd = tryOpen(path);
    return fd === undefined ? undefined : new EngineInput(fd);
  }

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** Whether lines wait for the engine to read. */
  get isBlocked(): boolean {
    return this.#waiting.length > 0;
  }

  send(line: string): void {
    this.#waiting.push(Buffer.from(`${line}\n`));
    this.flush();
  }

  /** Writes what there is room for; the rest waits for the next call. */
  flush(): void {
    for (let [next] = this.#waiting; next && !this.#isBroken; [next] = this.#waiting) {
      const written = this.#write(next);
      if (written < next.length) {
        this.#waiting[0] = next.subarray(written);
        return;
      }
      this.#waiting.shift();
    }
  }

  close(): void {
    this.#waiting = [];
    closeSync(this.#fd);
  }

  #write(bytes: Buffer): number {
    try {
      return writeSync(this.#fd, bytes);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EPIPE")
        this.#isBroken = true; // it is dead: its end is noticed by the look at the FIFO
      else if (code !== "EAGAIN") throw error;
      return 0;
    }
  }
}

function tryOpen(path: string): number | undefined {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENXIO" || code === "ENOENT") return undefined;
    throw error;
  }
}
