/** A tmux client in a terminal of its own: how somebody looks at a session from outside. */
import { join } from "node:path";
import { type IPty, spawn } from "node-pty";
import { pause, withDeadline } from "../../shared/lifecycle.ts";
import type { Patience } from "./large-writes.ts";
import { TerminalWriter } from "./terminal-writer.ts";

export interface AttachOptions {
  /** Holds tmux's socket. */
  stateDir: string;
  /** The tmux server's own environment; the client's must be as clean. */
  env: Record<string, string>;
  session: string;
  cols: number;
  rows: number;
  /** tmux itself takes no input from this client. */
  isReadOnly: boolean;
  /** The terminal has nothing beyond what terminfo's xterm-256color says. */
  isPlain: boolean;
  /** Resolves when tmux has answered something; rejects if it does not. */
  ping: () => Promise<void>;
  /** tmux's, for what this client types. */
  patience: Patience;
  onData: (chunk: Buffer) => void;
  /** Called once, when the client's process is gone. */
  onExit: () => void;
}

/** What xterm.js and most terminals can do beyond what terminfo's xterm-256color says. */
const FEATURES = "RGB,usstyle,overline,strikethrough";
/**
 * What tmux sends when it lets a client go (keypad off, then clear the screen), and never before. From here on
 * nothing is passed on, so that the last picture stays.
 */
const FAREWELL = "\x1b[?1l\x1b>";
/** A client that has attached begins with a control sequence. */
const ESCAPE = 0x1b;
/** A client asks the server to let it go; a hung server never does. */
const KILL_AFTER_MS = 500;
/** For tmux to take more of what was written, before the client is let go without it. */
const LINGER_MS = 10_000;
const LOOK_MS = 20;
/** However much was written. */
const LONGEST_END_MS = 30_000;
/** tmux reads so much of a terminal before it looks at the next one. */
const READ_BYTES = 4 * 1024;
/** The kernel holds so much of what was written and not read. */
const KERNEL_BYTES = 68 * 1024;

/** Starting one is a fork that takes some 10 ms in which nothing else runs: once a viewer, never per key. */
export class AttachedClient {
  readonly #options: AttachOptions;
  readonly #pty: IPty;
  readonly #writer: TerminalWriter;
  /** Until tmux has made the terminal raw, keys would be lost or mean something else: a C-c would end the client. */
  #typedBefore: Buffer[] | undefined = [];
  #writtenBytes = 0;
  /** The process is gone. */
  #isOver = false;
  /** Nothing is passed on any more, in either direction. */
  #hasEnded = false;
  #isEnding = false;
  #killTimer: NodeJS.Timeout | undefined;

  constructor(options: AttachOptions) {
    this.#options = options;
    this.#pty = spawnClient(options);
    // Without an encoding node-pty hands out buffers, whatever its types say.
    this.#pty.onData((data: unknown) => {
      if (Buffer.isBuffer(data)) this.#receive(data);
    });
    this.#writer = new TerminalWriter(this.#pty, options.patience);
    this.#pty.onExit(() => {
      this.#isOver = true;
      clearTimeout(this.#killTimer);
      options.onExit();
    });
  }

  get pid(): number {
    return this.#pty.pid;
  }

  write(bytes: Buffer): void {
    if (this.#isOver || this.#hasEnded) return;
    if (this.#typedBefore) this.#typedBefore.push(bytes);
    else this.#pass(bytes);
  }

  /**
   * Stops reading from the terminal. tmux notices that its client takes no more, throws away what it would have
   * drawn, and draws the whole screen anew after `resume`; other clients and the panes are not held up.
   */
  pause(): void {
    this.#pty.pause();
  }

  resume(): void {
    this.#pty.resume();
  }

  resize(cols: number, rows: number): void {
    if (this.#isOver || this.#hasEnded) return;
    try {
      this.#pty.resize(cols, rows);
    } catch {
      // The terminal is closed and the client's end is about to be told: nothing is left to resize.
    }
  }

  /** Detaches once tmux has taken what was written. The session goes on. */
  end(): void {
    if (this.#isOver || this.#isEnding) return;
    this.#isEnding = true;
    this.#hasEnded = true;
    // Read on, so that whatever tmux still writes to this terminal is taken and can hold up nobody.
    this.#pty.resume();
    // A tmux that does not answer takes nothing either.
    const cut = () => this.cut();
    withDeadline(this.#untilTaken(), LONGEST_END_MS, "tmux's reading").then(cut, cut);
  }

  /** Detaches at once. */
  cut(): void {
    if (this.#isOver || this.#killTimer) return;
    this.#killTimer = setTimeout(() => this.#pty.kill("SIGKILL"), KILL_AFTER_MS);
    this.#pty.kill("SIGHUP");
  }

  #receive(received: Buffer): void {
    // A client that has not attached yet, or can't, speaks in plain words, which are no picture of the session.
    const begin = this.#typedBefore ? received.indexOf(ESCAPE) : 0;
    if (begin === -1) return;
    const data = received.subarray(begin);
    for (const bytes of this.#typedBefore ?? []) this.#pass(bytes);
    this.#typedBefore = undefined;
    if (this.#hasEnded) return;
    const farewell = data.indexOf(FAREWELL);
    this.#hasEnded = farewell !== -1;
    const drawn = this.#hasEnded ? data.subarray(0, farewell) : data;
    if (drawn.length > 0) this.#options.onData(drawn);
  }

  #pass(bytes: Buffer): void {
    this.#pty.write(bytes);
    this.#writtenBytes += bytes.length;
  }

  /** A client that ends takes with it what tmux has not read from its terminal. */
  async #untilTaken(): Promise<void> {
    const left = await untilEmpty(() => this.#countWaiting());
    if (left > 0) return;
    // Before tmux answers, it looks at every terminal that had something to read.
    let looks = Math.ceil(Math.min(this.#writtenBytes, KERNEL_BYTES) / READ_BYTES);
    for (const startedAt = performance.now(); looks > 0 && !this.#isOver; looks--) {
      await pause(LOOK_MS); // the kernel hands the terminal's next piece over in a thread of its own
      const answered = await this.#options.ping().then(
        () => true,
        () => false, // tmux is busy, or gone: the time below says when that is enough
      );
      if (answered) continue;
      if (performance.now() - startedAt > LINGER_MS) return;
      looks += 1;
    }
  }

  #countWaiting(): number {
    return this.#isOver ? 0 : sumLengths(this.#typedBefore ?? []) + this.#writer.waitingBytes;
  }
}

function spawnClient({ stateDir, env, session, cols, rows, isReadOnly, isPlain }: AttachOptions): IPty {
  const flags = isReadOnly ? ["-f", "read-only,ignore-size"] : ["-f", "ignore-size"];
  const features = isPlain ? [] : ["-T", FEATURES];
  const args = ["-u", "-S", join(stateDir, "tmux.sock"), "-f", "/dev/null", ...features];
  return spawn("tmux", [...args, "attach-session", ...flags, "-t", `=${session}:`], {
    cols,
    rows,
    cwd: stateDir,
    env: { ...env, TERM: "xterm-256color" },
    encoding: null,
  });
}

/** Resolves with what is left once nothing is, or nothing moves for {@link LINGER_MS}. */
async function untilEmpty(count: () => number): Promise<number> {
  let left = count();
  for (let movedAt = performance.now(); left > 0 && performance.now() - movedAt < LINGER_MS; ) {
    await pause(LOOK_MS);
    const now = count();
    if (now < left) movedAt = performance.now();
    left = now;
  }
  return left;
}

function sumLengths(buffers: readonly Buffer[]): number {
  return buffers.reduce((sum, { length }) => sum + length, 0);
}
