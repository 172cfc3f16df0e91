/** How `run` ends: whatever ends it, its thread ends too, or it is said that it may go on. */
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError, type ErrorCode, errorText } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import type { Patience } from "../patience.ts";

/** How long an interrupted turn may take to end before its thread is ended under it. */
const GRACE_MS = 5_000;
/** How long the thread's end is waited for by someone who said it again. */
const LAST_MS = 3_000;
/** `timeout` and npm signal us, and our group besides: what comes so soon is the same wish. */
const ONE_WISH_MS = 500;

const SIGNALS = { SIGINT: EXIT.interrupted, SIGQUIT: 131, SIGTERM: 143, SIGHUP: 129 } as const;

export interface LeaveOptions {
  context: Context;
  client: SidecarClient;
  threadId: string;
  patience: Patience;
}

/**
 * The first signal interrupts the turn, and ends the thread if that takes too long. The second ends the thread and us,
 * the third only us.
 */
export class Leave {
  readonly #options: LeaveOptions;
  readonly #controller = new AbortController();
  readonly #over = new AbortController();
  readonly #handlers = Object.entries(SIGNALS).map(
    ([name, code]) => [name, () => this.#hear(name, code)] as const,
  );
  #wishes = 0;
  #wishedAtMs = Number.NEGATIVE_INFINITY;
  #exitCode: number | undefined;
  /** Ends us, after a second signal or a fault: nobody else says or decides anything then. */
  #end: Promise<never> | undefined;

  constructor(options: LeaveOptions) {
    this.#options = options;
    for (const [name, handler] of this.#handlers) process.on(name, handler);
    process.on("uncaughtException", this.#crash);
  }

  /** Fires at the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit code of the first signal, if one came. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /**
   * Ends the thread, and hears no signal any more. It waits for a sidecar that is away. It never returns if a second
   * signal or a fault ends us.
   * @returns whether the thread is over; if that is not known, it has been said
   */
  async endThread(): Promise<boolean> {
    try {
      await this.#options.patience.call(() => this.#kill());
      return true;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      await this.#sayOpen(error.message);
      return false;
    } finally {
      // The thread that they end may be seen to have ended before they know it.
      if (this.#end) await this.#end;
      this.#over.abort();
      for (const [name, handler] of this.#handlers) process.off(name, handler);
      process.off("uncaughtException", this.#crash);
    }
  }

  #hear(name: string, code: number): void {
    const nowMs = performance.now();
    // If a terminal is closed, both the system and the shell tell it.
    if (this.#wishes > 0 && (name === "SIGHUP" || nowMs - this.#wishedAtMs < ONE_WISH_MS)) return;
    this.#wishes += 1;
    this.#wishedAtMs = nowMs;
    if (this.#wishes === 1) void this.#leave(code);
    else if (this.#wishes === 2) this.#end = this.#leaveSoon(code);
    else this.#leaveAtOnce(code);
  }

  async #leave(code: number): Promise<void> {
    const { client, threadId, patience } = this.#options;
    this.#exitCode = code;
    this.#controller.abort();
    const interrupted = client.controlAgent(threadId, { control: "interrupt" });
    interrupted.catch(() => undefined); // there is no such thread yet, or no sidecar: it ends without
    await pause(GRACE_MS, this.#over.signal);
    // The code that follows the thread sees its end, or finds that no sidecar answers.
    if (!this.#over.signal.aborted) await patience.call(() => this.#kill()).catch(() => undefined);
  }

  async #leaveSoon(code: number): Promise<never> {
    const killed = this.#kill().then(
      () => undefined,
      (error: unknown) => errorText(error),
    );
    const problem = await Promise.race([killed, pause(LAST_MS).then(() => "The sidecar takes its time.")]);
    if (problem !== undefined) await this.#sayOpen(problem);
    process.exit(code);
  }

  #leaveAtOnce(code: number): never {
    void this.#sayOpen("Its end is not waited for.");
    process.exit(code);
  }

  /** A fault of ours ends us, as it would without this. */
  readonly #crash = (error: unknown): void => {
    process.off("uncaughtException", this.#crash); // of one more, Node's own way
    const said = this.#say(cleanLine(errorText(error)), "internal");
    this.#end = said.then(() => this.#leaveSoon(EXIT.failure));
  };

  async #sayOpen(why: string): Promise<void> {
    const { threadId } = this.#options;
    await this.#say(
      `${cleanLine(why)} The thread may be open still; to end it: threadmux kill ${threadId}`,
      "unavailable",
    );
  }

  async #say(text: string, code: ErrorCode): Promise<void> {
    const { err, isJson } = this.#options.context;
    if (isJson) await err.json({ error: text, code });
    else await err.line(`threadmux: ${text}`);
  }

  /** @throws AppError `unavailable` */
  async #kill(): Promise<void> {
    const { client, threadId } = this.#options;
    try {
      await client.killThread(threadId);
    } catch (error) {
      const isOver = error instanceof AppError && ["not_found", "thread_ended"].includes(error.code);
      if (!isOver) throw error;
    }
  }
}
