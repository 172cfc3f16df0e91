/** Sitting at a thread: one connection after the other, until the person leaves or the thread is over. */
import type { Viewport } from "../../shared/attach.ts";
import { AppError } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import { DetachKeys } from "../detach-keys.ts";
import { Patience } from "../patience.ts";
import type { Line, LineEvents } from "./line.ts";
import type { LocalTerminal } from "./local-terminal.ts";

export type Leaving =
  | { how: "detached" | "interrupted"; unsentBytes: number }
  | { how: "over"; text: string };

export interface SitOptions {
  terminal: LocalTerminal;
  detachKeys: Uint8Array;
  isReadOnly: boolean;
  open: (viewport: Viewport, events: LineEvents, signal: AbortSignal) => Promise<Line>;
  /** The connection is lost, for this reason, and will be tried again; so much of what was typed is lost with it. */
  onLost: (reason: string, unsentBytes: number) => Promise<void>;
}

/** What is typed is read on up to here, so that the detach keys are seen while the sidecar takes nothing. */
const MAX_UNSENT_BYTES = 8 * 1024 * 1024;
const RESUME_UNSENT_BYTES = 1024 * 1024;
/** A connection that is lost sooner than this is not tried again at once. */
const SHORT_MS = 5_000;
const CTRL_C = 0x03;
/** Node's own ends would leave the terminal as it is. Ctrl-C is a key of the program's, so only others send SIGINT. */
const SIGNALS = {
  SIGHUP: "detached",
  SIGTERM: "detached",
  SIGINT: "interrupted",
  SIGQUIT: "interrupted",
} as const;

/** @throws AppError what refuses the thread, or `unavailable` if the sidecar is away at first or for too long. */
export async function sit(options: SitOptions): Promise<Leaving> {
  const { terminal } = options;
  const seat = new Seat(options);
  const stopListening = onSignals((how) => seat.leave(how));
  terminal.enter({
    onTyped: (bytes) => seat.type(bytes),
    onResize: () => seat.resize(),
    onGone: () => seat.leave("detached"),
  });
  try {
    return await seat.stay();
  } finally {
    stopListening();
    terminal.leave();
  }
}

class Seat {
  readonly #options: SitOptions;
  readonly #keys: DetachKeys;
  readonly #patience = new Patience(async () => undefined);
  readonly #leaving = new AbortController();
  readonly #left: Promise<void>;
  #how: "detached" | "interrupted" = "detached";
  #line: Line | undefined;

  constructor(options: SitOptions) {
    this.#options = options;
    this.#keys = new DetachKeys(options.detachKeys);
    this.#left = new Promise((resolve) => {
      this.#leaving.signal.addEventListener("abort", () => resolve());
    });
  }

  /** The second time, what was typed is no longer waited for. */
  leave(how: "detached" | "interrupted"): void {
    if (this.#leaving.signal.aborted) {
      this.#line?.cut(new Error("left twice"));
      return;
    }
    this.#how = how;
    this.#leaving.abort();
  }

  /** What is typed while there is no connection goes nowhere: it was meant for a screen that is no longer shown. */
  type(typed: Uint8Array): void {
    if (this.#leaving.signal.aborted) return;
    const { forward, isDetach } = this.#keys.push(typed);
    if (!this.#line && forward.includes(CTRL_C)) this.leave("interrupted");
    if (!this.#options.isReadOnly) this.#line?.type(forward);
    this.#holdIfFull();
    if (isDetach) this.leave("detached");
  }

  resize(): void {
    this.#line?.resize(this.#options.terminal.viewport);
  }

  async stay(): Promise<Leaving> {
    const { terminal, onLost } = this.#options;
    for (let sat = false; ; sat = true) {
      const line = await this.#open(sat);
      if (!line) return { how: this.#how, unsentBytes: 0 };
      if ("text" in line) return { how: "over", text: line.text };
      this.#line = line;
      const openedAt = performance.now();
      this.resize(); // the terminal may have another size than when the connection was asked for
      const end = await Promise.race([line.end, this.#left]);
      if (!end) {
        terminal.leave(); // at once; the goodbye may take a moment
        await line.close();
        return { how: this.#how, unsentBytes: line.unsentBytes };
      }
      this.#line = undefined;
      terminal.hold(false);
      terminal.clear();
      line.cut(new Error("over"));
      if (end.kind === "over") return { how: "over", text: end.text };
      if (end.kind === "refused") throw end.error;
      await onLost(end.reason, line.unsentBytes);
      if (performance.now() - openedAt < SHORT_MS) await pause(1_000, this.#leaving.signal);
    }
  }

  /** Undefined: the person has left meanwhile. */
  async #open(sat: boolean): Promise<Line | { text: string } | undefined> {
    const { open, terminal } = this.#options;
    const { signal } = this.#leaving;
    const events: LineEvents = {
      onBytes: (bytes) => (signal.aborted ? Promise.resolve() : terminal.draw(bytes)),
      onSent: () => this.#holdIfFull(),
    };
    try {
      return await this.#patience.call(() => open(terminal.viewport, events, signal), signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      if (sat && error instanceof AppError && error.code === "thread_ended") return { text: error.message };
      throw error;
    }
  }

  #holdIfFull(): void {
    const { terminal } = this.#options;
    const unsentBytes = this.#line?.unsentBytes ?? 0;
    if (unsentBytes > MAX_UNSENT_BYTES) terminal.hold(true);
    else if (unsentBytes < RESUME_UNSENT_BYTES) terminal.hold(false);
  }
}

function onSignals(leave: (how: "detached" | "interrupted") => void): () => void {
  const listeners = Object.entries(SIGNALS).map(([name, how]) => ({ name, listener: () => leave(how) }));
  for (const { name, listener } of listeners) process.on(name, listener);
  return () => {
    for (const { name, listener } of listeners) process.off(name, listener);
  };
}
