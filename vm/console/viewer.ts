/** One socket on `/thread/:id/attach` and the tmux client behind it: bytes through, bounded; see shared/attach.ts. */
import type { RawData, WebSocket } from "ws";
import type { Thread } from "../../shared/api.ts";
import {
  type AttachMode,
  CLOSE,
  type ClientFrame,
  clientFrameSchema,
  closeCodeOf,
  describeState,
  type ServerFrame,
  type Viewport,
} from "../../shared/attach.ts";
import { assertNever } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { AttachedClient, AttachOptions } from "../tmux/attach-client.ts";
import { TypingPace } from "./typing-pace.ts";
import { Unread } from "./unread.ts";
import { WholeCharacters } from "./whole-characters.ts";

/** What a viewer needs to know of its thread. */
export type ViewedThread = Pick<Thread, "threadId" | "status" | "exitCode" | "signal" | "cols" | "rows">;

export interface ViewerLimits {
  /** A socket that does not answer a ping until the next one is gone. */
  pingIntervalMs: number;
  /** A viewer that has been sent too much and takes none of it for so long is dropped. */
  stallTimeoutMs: number;
  /** After a close frame, until the connection is cut. */
  closeGraceMs: number;
}

export interface ViewerOptions {
  socket: WebSocket;
  thread: ViewedThread;
  mode: AttachMode;
  hasAcks: boolean;
  /** The size of the viewer's own terminal, if it has another one than the thread's. */
  viewport: Viewport | undefined;
  isPlain: boolean;
  attach: (
    options: Pick<AttachOptions, "cols" | "rows" | "isReadOnly" | "isPlain" | "onData" | "onExit">,
  ) => AttachedClient;
  limits: ViewerLimits;
  /** The tmux client has ended: {@link Viewer.look} should be called. */
  onDetached: () => void;
  /** Socket and tmux client are gone. */
  onGone: () => void;
}

/** How long after its tmux client's end a thread may take to be known as killed or lost. */
const SETTLE_MS = 3_000;
/** An exited thread whose client has ended may be about to be killed. */
const SETTLE_EXITED_MS = 1_000;

/**
 * When more is on its way than the viewer takes, the tmux client's terminal is simply not read for a while. tmux
 * handles that itself: with 8 bytes a cell unwritten it throws away what that client would have got, serves all others
 * as before, and once the terminal is read again draws the whole screen, with every mode set anew. Nothing piles up,
 * neither here nor there, and a viewer that comes back sees the present at once. Reading on and throwing away here
 * would cost more and lose the modes (colours, margins, mouse) that tmux believes to be set.
 */
export class Viewer {
  readonly #options: ViewerOptions;
  readonly #socket: WebSocket;
  readonly #unread: Unread;
  readonly #typing: TypingPace;
  readonly #characters = new WholeCharacters();
  #thread: ViewedThread;
  #client: AttachedClient | undefined;
  /** The size of the tmux client's terminal, and the one that it shall have. */
  #drawn: Viewport;
  #viewport: Viewport | undefined;
  #detachedAt: number | undefined;
  #isAlive = true;
  #pingedAt = performance.now();
  #closeTimer: NodeJS.Timeout | undefined;
  #isEnding = false;
  #isGone = false;

  /** @throws Error where no tmux client can be started. */
  constructor(options: ViewerOptions) {
    this.#options = options;
    this.#socket = options.socket;
    this.#unread = new Unread(options.hasAcks);
    this.#typing = new TypingPace(options.socket);
    this.#thread = options.thread;
    this.#viewport = options.viewport;
    const { cols, rows } = this.#viewport ?? options.thread;
    this.#drawn = { cols, rows };
    this.#client = this.#attach();
    this.#socket.on("message", (data, isBinary) => this.#receive(data, isBinary));
    this.#socket.on("pong", () => {
      this.#isAlive = true;
    });
    this.#socket.on("error", () => undefined); // a close follows, with its code
    this.#socket.on("close", () => this.#detach());
    this.#sendSize();
    this.#sendStatus();
  }

  get threadId(): ThreadId {
    return this.#thread.threadId;
  }

  get pid(): number | undefined {
    return this.#client?.pid;
  }

  /** To be called now and then, and when the thread has changed; `thread` undefined: it no longer exists. */
  look(thread: ViewedThread | undefined): void {
    if (this.#isEnding) return;
    const now = performance.now();
    if (!thread || thread.status === "killed" || thread.status === "lost") {
      this.#end(thread ?? { ...this.#thread, status: "killed" });
      return;
    }
    const before = this.#thread;
    this.#thread = thread;
    if (thread.cols !== before.cols || thread.rows !== before.rows) this.#sendSize();
    this.#fit(this.#viewport ?? thread);
    if (thread.status !== before.status || thread.exitCode !== before.exitCode) this.#sendStatus();
    if (before.status === "idle" && thread.status !== "idle" && !this.#client) this.#attachAgain();
    this.#checkSettled(now);
    this.#checkStalled(now);
    this.#checkAlive(now);
  }

  close(code: number, reason: string, frame?: ServerFrame): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#typing.end();
    this.#client?.end();
    if (frame) this.#send(frame);
    this.#socket.close(code, reason);
    this.#closeTimer = setTimeout(() => this.#socket.terminate(), this.#options.limits.closeGraceMs);
  }

  /** Cuts the connection and ends the tmux client without waiting for the other side. */
  terminate(): void {
    this.#client?.cut();
    this.#socket.terminate();
  }

  /** @throws Error if no tmux client can be started */
  #attach(): AttachedClient {
    const { attach, mode, isPlain } = this.#options;
    return attach({
      ...this.#drawn,
      isReadOnly: mode === "view",
      isPlain,
      onData: (chunk) => this.#draw(chunk),
      onExit: () => this.#onDetached(),
    });
  }

  /** An agent that rests has no session; its next one is shown on the same socket. */
  #attachAgain(): void {
    this.#detachedAt = undefined;
    this.#client = this.#attach();
  }

  #draw(chunk: Buffer): void {
    if (this.#isEnding) return;
    this.#socket.send(chunk, { binary: true }, this.#goOn);
    if (this.#unread.sent(chunk.length, this.#socket.bufferedAmount, performance.now()))
      this.#client?.pause();
  }

  readonly #goOn = (): void => {
    if (this.#unread.isReadAgain(this.#socket.bufferedAmount, performance.now())) this.#client?.resume();
  };

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#isEnding) return;
    this.#isAlive = true;
    if (!Buffer.isBuffer(data)) throw new Error("ws is set to hand out buffers");
    if (isBinary) {
      if (this.#options.mode === "view") return;
      this.#client?.write(this.#characters.take(data));
      this.#typing.spend(data.length);
      return;
    }
    const frame = clientFrameSchema.safeParse(parseJson(data.toString("utf8")));
    if (frame.success) this.#obey(frame.data);
    else this.close(closeCodeOf("invalid_request"), "not a known frame");
  }

  #obey(frame: ClientFrame): void {
    switch (frame.type) {
      case "ack":
        this.#unread.acknowledge(frame.bytes);
        this.#goOn();
        return;
      case "viewport":
        this.#viewport = { cols: frame.cols, rows: frame.rows };
        return;
      default:
        assertNever(frame);
    }
  }

  /** Only as often as `look` is called: a window that is dragged has many sizes, and tmux draws all anew for each. */
  #fit({ cols, rows }: Viewport): void {
    if (cols === this.#drawn.cols && rows === this.#drawn.rows) return;
    this.#drawn = { cols, rows };
    this.#client?.resize(cols, rows);
  }

  #onDetached(): void {
    this.#client = undefined;
    this.#detachedAt = performance.now();
    if (this.#socket.readyState === this.#socket.CLOSED) this.#leave();
    else if (!this.#isEnding) this.#options.onDetached();
  }

  /** The socket is closed, by whichever side. */
  #detach(): void {
    this.#isEnding = true;
    this.#typing.end();
    clearTimeout(this.#closeTimer);
    if (this.#client) this.#client.end();
    else this.#leave();
  }

  #leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#options.onGone();
  }

  #end(thread: ViewedThread): void {
    const { status, exitCode, signal } = thread;
    const text = `The thread is over: ${describeState(thread)}.`;
    this.close(CLOSE.ended, "the thread is over", { type: "end", status, exitCode, signal, text });
  }

  #checkSettled(now: number): void {
    if (this.#detachedAt === undefined) return;
    const waitedMs = now - this.#detachedAt;
    if (this.#thread.status === "exited" && waitedMs >= SETTLE_EXITED_MS) this.#end(this.#thread);
    if (waitedMs < SETTLE_MS || this.#thread.status === "idle") return;
    const error = "tmux has let go of this terminal; open it again.";
    this.close(closeCodeOf("unavailable"), "", { type: "error", code: "unavailable", error });
  }

  #checkStalled(now: number): void {
    this.#goOn();
    if (this.#unread.stalledMs(now) < this.#options.limits.stallTimeoutMs) return;
    this.close(CLOSE.tooSlow, "did not take what was sent");
  }

  #checkAlive(now: number): void {
    if (now - this.#pingedAt < this.#options.limits.pingIntervalMs) return;
    this.#pingedAt = now;
    if (!this.#isAlive) this.#socket.terminate();
    this.#isAlive = false;
    this.#socket.ping();
    this.#sendStatus(); // a browser's page sees no pings, and wants to know that somebody is there
  }

  #sendSize(): void {
    this.#send({ type: "size", cols: this.#thread.cols, rows: this.#thread.rows });
  }

  #sendStatus(): void {
    const { status, exitCode, signal } = this.#thread;
    this.#send({ type: "status", status, exitCode, signal });
  }

  #send(frame: ServerFrame): void {
    this.#socket.send(JSON.stringify(frame));
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not JSON: the schema refuses it
  }
}
