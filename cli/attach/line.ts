/** One WebSocket to a thread's terminal; shared/attach.ts says what is spoken on it. */
import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { errorReplySchema } from "../../shared/api.ts";
import {
  ACK_EVERY_BYTES,
  type AttachMode,
  type ClientFrame,
  MAX_INPUT_FRAME_BYTES,
  PING_INTERVAL_MS,
  serverFrameSchema,
  type Viewport,
} from "../../shared/attach.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import { strangeWords } from "../../shared/strange-answer.ts";
import { trimEndOf } from "../../shared/trim-end.ts";
import { endOfClose, endOfError, endOfFrame, type LineEnd } from "./line-end.ts";

export interface LineTarget {
  /** The sidecar's address. */
  url: string;
  token: string;
  threadId: string;
  mode: AttachMode;
  /** The terminal knows 256 colours and no more. */
  isPlain: boolean;
}

export interface LineEvents {
  /** Resolves when the bytes are drawn. */
  onBytes: (bytes: Buffer) => Promise<void>;
  /** More of what was typed has left. */
  onSent: () => void;
}

export interface LineLimits {
  /** For the sidecar to take the connection, and to say the first word on it. */
  openTimeoutMs: number;
  /** The sidecar says something every {@link PING_INTERVAL_MS}. */
  silenceMs: number;
  /** On leaving, for each step forward: what was typed, then the other side's goodbye. */
  closeGraceMs: number;
}

export const LINE_LIMITS: LineLimits = {
  openTimeoutMs: 15_000,
  silenceMs: 2 * PING_INTERVAL_MS,
  closeGraceMs: 10_000,
};

/** Larger than any frame of a sidecar's: it sends what one read of a terminal gives. */
const MAX_FRAME_BYTES = 4 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 16 * 1024;
const SILENCE_STEPS = 4;

/**
 * Resolves when the sidecar has shown the thread's status.
 * @throws AppError `unavailable` if nobody takes the connection in time, or the sidecar's own code and sentence.
 */
export async function openLine(
  target: LineTarget,
  viewport: Viewport,
  events: LineEvents,
  signal: AbortSignal,
  limits: LineLimits = LINE_LIMITS,
): Promise<Line> {
  const line = new Line(target, viewport, events, limits);
  const abort = () => line.cut(new Error("left"));
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  const timer = setTimeout(() => line.cut(new Error("took too long")), limits.openTimeoutMs);
  try {
    const end = await Promise.race([line.opened, line.end]);
    if (end === undefined || end.kind === "over") return line;
    if (end.kind === "refused") throw end.error;
    throw new AppError("unavailable", `attach: ${target.url}: ${end.reason}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

export class Line {
  readonly #socket: WebSocket;
  readonly #events: LineEvents;
  readonly #limits: LineLimits;
  /** What is asked for, as people write it. */
  readonly #place: string;
  readonly #silence: NodeJS.Timeout;
  #silentSteps = 0;
  #drawnBytes = 0;
  #ackedBytes = 0;
  #unsentBytes = 0;
  #cause: Error | undefined;
  #isOver = false;
  #onOpened: (end: undefined) => void = () => undefined;
  #onEnd: (end: LineEnd) => void = () => undefined;
  /** The thread's status has come. */
  readonly opened = new Promise<undefined>((resolve) => {
    this.#onOpened = resolve;
  });
  /** The first cause counts. */
  readonly end = new Promise<LineEnd>((resolve) => {
    this.#onEnd = resolve;
  });
  readonly #closed: Promise<void>;

  constructor(target: LineTarget, viewport: Viewport, events: LineEvents, limits: LineLimits) {
    this.#events = events;
    this.#limits = limits;
    this.#place = `${trimEndOf(target.url, "/")}${pathOf(target.threadId)}`;
    const socket = new WebSocket(addressOf(target, viewport), {
      headers: { authorization: `Bearer ${target.token}` },
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
    });
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.on("close", () => resolve()));
    socket.on("unexpected-response", (_request, reply) => void this.#readRefusal(reply));
    socket.on("message", (data, isBinary) => {
      this.#silentSteps = 0;
      if (!Buffer.isBuffer(data)) throw new Error("ws is set to hand out buffers");
      if (isBinary) void this.#draw(data);
      else this.#receive(data.toString("utf8"));
    });
    socket.on("ping", () => {
      this.#silentSteps = 0;
    });
    socket.on("error", (error) => {
      this.#cause ??= error; // a close follows
    });
    socket.on("close", (code) => {
      clearInterval(this.#silence);
      this.#finish(endOfClose(code, this.#cause));
    });
    // By steps, since a process that was stopped for long must hear what has come meanwhile before it judges.
    this.#silence = setInterval(() => {
      this.#silentSteps += 1;
      if (this.#silentSteps > SILENCE_STEPS) this.cut(new Error("the sidecar has gone silent"));
    }, limits.silenceMs / SILENCE_STEPS);
  }

  /** What was typed and has not left this machine. */
  get unsentBytes(): number {
    return this.#unsentBytes;
  }

  type(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; from += MAX_INPUT_FRAME_BYTES) {
      const frame = bytes.subarray(from, from + MAX_INPUT_FRAME_BYTES);
      this.#unsentBytes += frame.length;
      this.#socket.send(frame, { binary: true }, (error) => {
        if (error) return; // the line is cut, and this was not sent
        this.#unsentBytes -= frame.length;
        this.#events.onSent();
      });
    }
  }

  resize({ cols, rows }: Viewport): void {
    this.#say({ type: "viewport", cols, rows });
  }

  /** Says goodbye after everything that was typed, and waits as long as this goes forward. */
  async close(): Promise<void> {
    this.#socket.close(1000);
    let isClosed = false;
    const closed = this.#closed.then(() => {
      isClosed = true;
    });
    for (let before = Number.POSITIVE_INFINITY; !isClosed && this.#unsentBytes < before; ) {
      before = this.#unsentBytes;
      const waiting = new AbortController();
      await Promise.race([closed, pause(this.#limits.closeGraceMs, waiting.signal)]);
      waiting.abort();
    }
    this.#socket.terminate();
    await closed;
  }

  cut(cause: Error): void {
    this.#cause ??= cause;
    this.#socket.terminate();
  }

  async #draw(bytes: Buffer): Promise<void> {
    if (this.#isOver) return; // the screen shows something else by now
    await this.#events.onBytes(bytes);
    this.#drawnBytes += bytes.length;
    if (this.#drawnBytes - this.#ackedBytes < ACK_EVERY_BYTES) return;
    this.#ackedBytes = this.#drawnBytes;
    this.#say({ type: "ack", bytes: this.#drawnBytes });
  }

  #receive(text: string): void {
    const frame = serverFrameSchema.safeParse(parseJson(text));
    if (!frame.success || frame.data.type === "size") return; // of a newer sidecar; our size is our own
    const end = endOfFrame(frame.data);
    if (end) this.#finish(end);
    else this.#onOpened(undefined);
  }

  #finish(end: LineEnd): void {
    this.#isOver = true;
    this.#onEnd(end);
  }

  #say(frame: ClientFrame): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(frame));
  }

  /** The sidecar, or whatever answers there, did not want a WebSocket. */
  async #readRefusal(reply: IncomingMessage): Promise<void> {
    let text = "";
    try {
      for await (const chunk of reply) {
        text += String(chunk);
        if (text.length > MAX_REFUSAL_BYTES) break;
      }
    } catch (error) {
      this.#cause ??= error instanceof Error ? error : new Error(errorText(error));
    }
    const { statusCode: status = 0, headers } = reply;
    const wanted = "a WebSocket";
    const strange = { method: "GET", url: this.#place, status, contentType: headers["content-type"], wanted };
    const refusal = errorReplySchema.safeParse(parseJson(text));
    const { code, error } = refusal.success
      ? refusal.data
      : { code: "unavailable" as const, error: strangeWords(strange) };
    this.#finish(endOfError(code, error));
    this.cut(new Error("refused"));
  }
}

function addressOf({ url, threadId, mode, isPlain }: LineTarget, { cols, rows }: Viewport): string {
  const query = new URLSearchParams({ mode, acks: "1", cols: String(cols), rows: String(rows) });
  if (isPlain) query.set("plain", "1");
  const base = trimEndOf(url, "/").replace(/^http/, "ws");
  return `${base}${pathOf(threadId)}?${query}`;
}

function pathOf(threadId: string): string {
  return `/thread/${encodeURIComponent(threadId)}/attach`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not JSON: the schemas say so
  }
}
