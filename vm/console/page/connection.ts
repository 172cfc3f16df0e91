/** One thread's socket, kept: it comes back by itself until the thread or the session is over. */
import {
  ACK_EVERY_BYTES,
  type AttachMode,
  CLOSE,
  closeCodeOf,
  describeState,
  PING_INTERVAL_MS,
  type ServerFrame,
  serverFrameSchema,
} from "../../../shared/attach.ts";
import { ApiError, getThread, parseJson } from "./api.ts";
import { findSecret, protocolsOf } from "./session.ts";

export type ConnectionState =
  | { kind: "connecting" }
  | { kind: "open" }
  /** Lost; the next attempt is at `retryAt`. */
  | { kind: "waiting"; retryAt: number; reason: string }
  /** For good. */
  | { kind: "over"; text: string }
  | { kind: "signed out" };

export interface ConnectionOptions {
  threadId: string;
  mode: AttachMode;
  onState: (state: ConnectionState) => void;
  onFrame: (frame: ServerFrame) => void;
  /** A new socket: what comes now draws the whole screen. */
  onFresh: () => void;
  /** `onDrawn` must be called when the bytes are on the screen. */
  onBytes: (bytes: Uint8Array, onDrawn: () => void) => void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
const SILENCE_MS = 2 * PING_INTERVAL_MS;
const REFUSED = [closeCodeOf("not_found"), closeCodeOf("thread_ended"), closeCodeOf("invalid_request")];

export class Connection {
  readonly #options: ConnectionOptions;
  #socket: WebSocket | undefined;
  #waitMs = FIRST_WAIT_MS;
  #retryTimer: number | undefined;
  #silenceTimer: number | undefined;
  #lastText = "";
  #isOver = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    window.addEventListener("online", this.retryNow);
    window.addEventListener("offline", this.#onOffline);
    document.addEventListener("visibilitychange", this.#onVisible);
    this.#connect();
  }

  send(text: string): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(new TextEncoder().encode(text));
  }

  /** Bytes that are no text: mouse reports of the old kind. */
  sendBinary(latin1: string): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#socket.send(Uint8Array.from(latin1, (char) => char.charCodeAt(0) & 0xff));
  }

  close(): void {
    this.#isOver = true;
    window.clearTimeout(this.#retryTimer);
    window.clearTimeout(this.#silenceTimer);
    window.removeEventListener("online", this.retryNow);
    window.removeEventListener("offline", this.#onOffline);
    document.removeEventListener("visibilitychange", this.#onVisible);
    this.#drop();
  }

  readonly retryNow = (): void => {
    if (this.#retryTimer === undefined) return;
    window.clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    this.#connect();
  };

  readonly #onOffline = (): void => {
    if (!this.#socket) return;
    this.#drop();
    this.#wait("This device is offline.");
  };

  readonly #onVisible = (): void => {
    if (document.visibilityState === "visible") this.retryNow();
  };

  #connect(): void {
    const { threadId, mode, onState, onFresh } = this.#options;
    onState({ kind: "connecting" });
    const url = new URL(`/thread/${encodeURIComponent(threadId)}/attach?mode=${mode}&acks=1`, location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url, protocolsOf(findSecret()));
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    this.#lastText = "";
    let hasOpened = false;
    let drawnBytes = 0;
    let ackedBytes = 0;
    const onDrawn = (bytes: number) => {
      drawnBytes += bytes;
      if (drawnBytes - ackedBytes < ACK_EVERY_BYTES || socket.readyState !== WebSocket.OPEN) return;
      ackedBytes = drawnBytes;
      socket.send(JSON.stringify({ type: "ack", bytes: drawnBytes }));
    };
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      this.#heard();
      if (typeof data === "string") {
        this.#receive(data);
      } else if (data instanceof ArrayBuffer) {
        if (!hasOpened) {
          hasOpened = true;
          this.#waitMs = FIRST_WAIT_MS;
          onFresh();
          onState({ kind: "open" });
        }
        this.#options.onBytes(new Uint8Array(data), () => onDrawn(data.byteLength));
      }
    };
    socket.onclose = ({ code }) => {
      if (this.#socket === socket) void this.#closed(code);
    };
    this.#heard();
  }

  #receive(text: string): void {
    const frame = serverFrameSchema.safeParse(parseJson(text));
    if (!frame.success) return; // of a newer sidecar
    if (frame.data.type === "error") this.#lastText = frame.data.error;
    if (frame.data.type === "end") this.#lastText = frame.data.text;
    this.#options.onFrame(frame.data);
  }

  async #closed(code: number): Promise<void> {
    this.#drop();
    if (code === CLOSE.signedOut) return this.#end({ kind: "signed out" });
    if (code === CLOSE.ended || REFUSED.includes(code)) {
      return this.#end({ kind: "over", text: this.#lastText || "The thread is over." });
    }
    if (code === CLOSE.tooSlow) return this.#wait("This connection was too slow for what the thread prints.");
    if (code === CLOSE.goingAway) return this.#wait("The sidecar is restarting.");
    if (this.#lastText !== "") return this.#wait(this.#lastText);
    // A browser does not say why an upgrade was refused; the API does.
    const state = await this.#askWhy();
    if (this.#isOver) return;
    if (state) this.#end(state);
    else this.#wait("The connection is lost.");
  }

  async #askWhy(): Promise<ConnectionState | undefined> {
    try {
      const thread = await getThread(this.#options.threadId);
      if (thread.status !== "killed" && thread.status !== "lost") return undefined;
      return { kind: "over", text: `The thread is over: ${describeState(thread)}.` };
    } catch (error) {
      if (!(error instanceof ApiError)) return undefined;
      if (error.status === 401) return { kind: "signed out" };
      return error.status === 404 ? { kind: "over", text: error.message } : undefined;
    }
  }

  #end(state: ConnectionState): void {
    this.close();
    this.#options.onState(state);
  }

  #wait(reason: string): void {
    if (this.#isOver) return;
    const waitMs = this.#waitMs * (0.8 + 0.4 * Math.random());
    this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
    this.#retryTimer = window.setTimeout(this.retryNow, waitMs);
    this.#options.onState({ kind: "waiting", retryAt: Date.now() + waitMs, reason });
  }

  #heard(): void {
    window.clearTimeout(this.#silenceTimer);
    this.#silenceTimer = window.setTimeout(() => {
      this.#drop();
      this.#wait("The connection has gone silent.");
    }, SILENCE_MS);
  }

  #drop(): void {
    window.clearTimeout(this.#silenceTimer);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
  }
}

/** A sentence for a person if the news do not come, else nothing. */
export function noticeText(state: ConnectionState): string {
  switch (state.kind) {
    case "waiting": {
      const seconds = Math.max(1, Math.ceil((state.retryAt - Date.now()) / 1_000));
      return `${state.reason} Trying again in ${seconds} s …`;
    }
    case "over":
      return state.text;
    default:
      return "";
  }
}
