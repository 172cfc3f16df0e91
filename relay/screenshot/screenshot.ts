/** Screenshots as PNG, made in a process of their own: a thread can't be stopped while native code runs in it. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { AppError } from "../../shared/errors.ts";
import type { ScreenReply } from "../../shared/screen-api.ts";
import type { WorkerReply } from "./worker.ts";

export interface ScreenshotsOptions {
  /** From the call to the picture, waiting for others included. */
  deadlineMs?: number;
  /** How long the worker is kept with nothing to do. */
  idleMs?: number;
  /** What may wait for the one that is being made. */
  maxWaiting?: number;
  /** Starts the worker; tests have others. */
  startWorker?: () => ChildProcess;
}

const MAX_HEAP_MIB = 512;

interface Job {
  screen: ScreenReply;
  resolve: (png: Buffer) => void;
  reject: (error: Error) => void;
  deadline: NodeJS.Timeout;
}

/**
 * Makes one screenshot after the other in one process, the worker, which is started when it is needed and ended when
 * it is idle.
 * A worker that hangs or dies costs only the screenshot it was making; the next one gets a new worker.
 */
export class Screenshots {
  readonly #deadlineMs: number;
  readonly #idleMs: number;
  readonly #maxWaiting: number;
  readonly #startWorker: () => ChildProcess;
  readonly #waiting: Job[] = [];
  #current: Job | undefined;
  #worker: ChildProcess | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: ScreenshotsOptions = {}) {
    this.#deadlineMs = options.deadlineMs ?? 30_000;
    this.#idleMs = options.idleMs ?? 30_000;
    this.#maxWaiting = options.maxWaiting ?? 8;
    this.#startWorker = options.startWorker ?? startWorker;
  }

  /**
   * A picture of the screen, with its colours (`format: "ansi"`) and its cursor, and with a bar that holds the title
   * where there is one.
   * @throws AppError `unavailable` after the deadline, or where too many are waiting.
   */
  render(screen: ScreenReply): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new AppError("unavailable", "The relay is being stopped.");
      if (this.#waiting.length >= this.#maxWaiting) {
        throw new AppError("unavailable", "Too many screenshots are being made; try again in a moment.");
      }
      const deadline = setTimeout(() => this.#expire(job), this.#deadlineMs);
      const job: Job = { screen, resolve, reject, deadline };
      this.#waiting.push(job);
      this.#next();
    });
  }

  /** Ends the worker; what is being made or waits is rejected. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const jobs = [...(this.#current ? [this.#current] : []), ...this.#waiting.splice(0)];
    this.#current = undefined;
    for (const job of jobs) settle(job, new AppError("unavailable", "The relay is being stopped."));
    await this.#dropWorker();
  }

  #next(): void {
    if (this.#current !== undefined) return;
    clearTimeout(this.#idleTimer);
    const job = this.#waiting.shift();
    if (job === undefined) {
      // An idle worker keeps nobody alive.
      this.#worker?.unref();
      this.#worker?.channel?.unref();
      this.#idleTimer = setTimeout(() => void this.#dropWorker(), this.#idleMs).unref();
      return;
    }
    this.#current = job;
    try {
      this.#worker ??= this.#start();
      this.#worker.ref();
      this.#worker.channel?.ref();
      // What can't be sent is told by the worker's end.
      this.#worker.send(job.screen, () => undefined);
    } catch (cause) {
      this.#finish(new Error("the screenshots' worker can't be started", { cause }));
    }
  }

  #start(): ChildProcess {
    const worker = this.#startWorker();
    const end = (result: Buffer | Error) => {
      if (worker === this.#worker) this.#finish(result);
    };
    const die = (error: Error) => {
      if (worker !== this.#worker) return;
      this.#worker = undefined;
      this.#finish(error);
    };
    worker.on("message", (reply: WorkerReply) =>
      end("png" in reply ? Buffer.from(reply.png) : new Error(`no screenshot: ${reply.error}`)),
    );
    worker.on("error", (cause) => die(new Error("the screenshots' worker failed", { cause })));
    worker.on("exit", (code, signal) =>
      die(new Error(`the screenshots' worker ended with ${code ?? signal}`)),
    );
    return worker;
  }

  #finish(result: Buffer | Error): void {
    const job = this.#current;
    this.#current = undefined;
    if (job !== undefined) settle(job, result);
    this.#next();
  }

  #expire(job: Job): void {
    const error = new AppError(
      "unavailable",
      `The picture was not made within ${this.#deadlineMs / 1_000} s; try again in a moment.`,
    );
    if (job === this.#current) {
      void this.#dropWorker();
      this.#finish(error);
    } else {
      this.#waiting.splice(this.#waiting.indexOf(job), 1);
      settle(job, error);
    }
  }

  /** Resolves when the process is gone. */
  async #dropWorker(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker === undefined || worker.exitCode !== null || worker.signalCode !== null) return;
    // An idle one would not keep this process until its end is known.
    worker.ref();
    const gone = once(worker, "exit");
    if (worker.kill("SIGKILL")) await gone;
  }
}

function settle(job: Job, result: Buffer | Error): void {
  clearTimeout(job.deadline);
  if (result instanceof Error) job.reject(result);
  else job.resolve(result);
}

/** The worker's file has this file's extension: `.js` where it was built, `.ts` where it runs from the source. */
function startWorker(): ChildProcess {
  const file = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
  const loader = file.pathname.endsWith(".js") ? [] : ["--import", import.meta.resolve("tsx")];
  return fork(fileURLToPath(file), {
    execArgv: [...loader, `--max-old-space-size=${MAX_HEAP_MIB}`],
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: {}, // a picture needs none of the relay's secrets
  });
}
