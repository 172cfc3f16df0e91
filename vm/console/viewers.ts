/** All viewers of all threads: takes the upgrade to a WebSocket, keeps their number bounded, ends what must end. */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { isOpen } from "../../shared/api.ts";
import {
  attachQuerySchema,
  CLOSE,
  closeCodeOf,
  describeState,
  MAX_INPUT_FRAME_BYTES,
  PING_INTERVAL_MS,
  VIEWER_PROTOCOL,
} from "../../shared/attach.ts";
import { AppError } from "../../shared/errors.ts";
import { anyThreadNameSchema, type ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { markKnown } from "../callers/known.ts";
import { AttachedClient, type AttachOptions } from "../tmux/attach-client.ts";
import { type ViewedThread, Viewer, type ViewerLimits, type ViewerOptions } from "./viewer.ts";

export interface ViewersLimits extends ViewerLimits {
  maxViewers: number;
  maxViewersPerThread: number;
}

export const VIEWERS_LIMITS: ViewersLimits = {
  maxViewers: 32,
  maxViewersPerThread: 8,
  pingIntervalMs: PING_INTERVAL_MS,
  stallTimeoutMs: 20_000,
  closeGraceMs: 5_000,
};

export interface ViewersOptions {
  tmux: Pick<AttachOptions, "stateDir" | "env" | "ping" | "patience">;
  isTmuxUp: () => boolean;
  /** What callers call a thread → its id. */
  resolve: (name: string) => ThreadId;
  findThread: (threadId: ThreadId) => ViewedThread | undefined;
  sessionName: (threadId: ThreadId) => string;
  /** Whether the request may attach; `isStillOpen` is asked for as long as it is attached. */
  admit: (request: IncomingMessage) => { isStillOpen: () => boolean } | undefined;
  /** A request was not admitted: resolves when it may be told so; false: its connection is cut. */
  mayRefuse: (request: IncomingMessage) => Promise<boolean>;
  log: Log;
  limits?: Partial<ViewersLimits>;
}

/** How often the threads that somebody looks at are looked up, in the database: new sizes, ends. */
const LOOK_INTERVAL_MS = 250;
/** What a peer gets of the grace when the sidecar itself ends. */
const CLOSE_GRACE_MS = 500;

export class Viewers {
  readonly #options: ViewersOptions;
  readonly #limits: ViewersLimits;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // Compression would hold bytes back and costs 300 kB a socket.
    perMessageDeflate: false,
    maxPayload: MAX_INPUT_FRAME_BYTES,
    // Never the one that holds a session's secret.
    handleProtocols: (names) => (names.has(VIEWER_PROTOCOL) ? VIEWER_PROTOCOL : false),
  });
  readonly #viewers = new Map<Viewer, { isStillOpen: () => boolean }>();
  /** Sockets that are told why not, and then closed. */
  readonly #refused = new Set<WebSocket>();
  /** Connections that wait for their refusal. */
  readonly #waiting = new Set<Duplex>();
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;
  #onEmpty: (() => void) | undefined;

  constructor(options: ViewersOptions) {
    this.#options = options;
    this.#limits = { ...VIEWERS_LIMITS, ...options.limits };
  }

  /** For a request that asks for a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    try {
      const admission = this.#options.admit(request);
      if (!admission) return void this.#turnAway(request, socket);
      markKnown(request);
      const target = parseTarget(request.url ?? "");
      // Typed keys and what they draw are small and must not wait for one another.
      if ("setNoDelay" in socket && typeof socket.setNoDelay === "function") socket.setNoDelay(true);
      this.#server.handleUpgrade(request, socket, head, (webSocket) => {
        try {
          this.#add(webSocket, target, admission);
        } catch (error) {
          this.#refuse(webSocket, toAppError(error, this.#options.log));
        }
      });
    } catch (error) {
      refuseUpgrade(socket, toAppError(error, this.#options.log));
    }
  }

  /** Ends every viewer and its tmux client; the threads go on. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#timer);
    for (const socket of this.#refused) socket.terminate();
    for (const socket of this.#waiting) socket.destroy();
    if (this.#viewers.size === 0) return;
    const isEmpty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    for (const viewer of this.#viewers.keys()) viewer.close(CLOSE.goingAway, "the sidecar stops");
    const timer = setTimeout(() => {
      for (const viewer of this.#viewers.keys()) viewer.terminate();
    }, CLOSE_GRACE_MS);
    await isEmpty;
    clearTimeout(timer);
  }

  async #turnAway(request: IncomingMessage, socket: Duplex): Promise<void> {
    const sentence = "A valid token is needed, or the console's session with an Origin of this host.";
    this.#waiting.add(socket);
    socket.once("close", () => this.#waiting.delete(socket));
    if (!(await this.#options.mayRefuse(request))) return void socket.destroy();
    refuseUpgrade(socket, new AppError("unauthorized", sentence));
  }

  #add(
    socket: WebSocket,
    { name, mode, hasAcks, viewport, isPlain }: Target,
    admission: { isStillOpen: () => boolean },
  ): void {
    const { resolve, findThread, isTmuxUp, tmux, sessionName, log } = this.#options;
    if (this.#isClosing) throw new AppError("unavailable", "The sidecar stops.");
    const threadId = resolve(name);
    const thread = findThread(threadId);
    if (!thread) throw new AppError("not_found", `There is no thread ${JSON.stringify(threadId)}.`);
    if (!isOpen(thread.status)) {
      throw new AppError("thread_ended", `Thread ${threadId} is over: ${describeState(thread)}.`);
    }
    this.#checkRoom(threadId);
    if (!isTmuxUp()) throw new AppError("unavailable", "tmux does not answer; it is being looked after.");
    const viewer: Viewer = new Viewer({
      socket,
      thread,
      mode,
      hasAcks,
      viewport,
      isPlain,
      attach: (options) => new AttachedClient({ ...tmux, ...options, session: sessionName(threadId) }),
      limits: this.#limits,
      onDetached: () => this.#look(viewer),
      onGone: () => this.#remove(viewer),
    });
    this.#viewers.set(viewer, admission);
    this.#timer ??= setInterval(() => this.#lookAtAll(), LOOK_INTERVAL_MS);
    log.info({ threadId, mode, viewers: this.#viewers.size }, "viewer attached");
  }

  #checkRoom(threadId: ThreadId): void {
    const { maxViewers, maxViewersPerThread } = this.#limits;
    const ofThread = [...this.#viewers.keys()].filter((viewer) => viewer.threadId === threadId).length;
    if (ofThread >= maxViewersPerThread) {
      throw new AppError("max_threads", `${ofThread} terminals are open on this thread; close one first.`);
    }
    if (this.#viewers.size >= maxViewers) {
      throw new AppError("max_threads", `${this.#viewers.size} terminals are open; close one first.`);
    }
  }

  #remove(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return;
    this.#options.log.info({ threadId: viewer.threadId, viewers: this.#viewers.size }, "viewer gone");
    if (this.#viewers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#onEmpty?.();
  }

  #lookAtAll(): void {
    for (const viewer of [...this.#viewers.keys()]) this.#look(viewer);
  }

  #look(viewer: Viewer): void {
    const isSignedOut = this.#viewers.get(viewer)?.isStillOpen() === false;
    if (isSignedOut) viewer.close(CLOSE.signedOut, "signed out");
    else viewer.look(this.#options.findThread(viewer.threadId));
  }

  /** After the upgrade, since a browser is not told why an upgrade was refused. */
  #refuse(socket: WebSocket, error: AppError): void {
    this.#refused.add(socket);
    const timer = setTimeout(() => socket.terminate(), this.#limits.closeGraceMs);
    socket.on("error", () => undefined); // a close follows
    socket.on("close", () => {
      clearTimeout(timer);
      this.#refused.delete(socket);
    });
    socket.send(JSON.stringify({ type: "error", code: error.code, error: error.message }));
    socket.close(closeCodeOf(error.code));
    if (this.#isClosing) socket.terminate();
  }
}

type Target = { name: string } & Pick<ViewerOptions, "mode" | "hasAcks" | "viewport" | "isPlain">;

/** @throws AppError `not_found`, `invalid_request` */
function parseTarget(target: string): Target {
  const base = "http://sidecar";
  // Its own error would hold the whole target, which has no place in a log.
  if (!URL.canParse(target, base)) throw new AppError("not_found", "There is no WebSocket at this address.");
  const url = new URL(target, base);
  const name = anyThreadNameSchema.safeParse(
    unescaped(/^\/thread\/([^/]+)\/attach$/.exec(url.pathname)?.[1]),
  );
  if (!name.success) throw new AppError("not_found", `There is no WebSocket at ${url.pathname}.`);
  const query = attachQuerySchema.safeParse(Object.fromEntries(url.searchParams));
  if (!query.success) {
    const problems = query.error.issues.map(
      (issue) => `${issue.path.join(".") || "query"}: ${issue.message}`,
    );
    throw new AppError("invalid_request", `${problems.join("; ")}.`);
  }
  const { mode, acks: hasAcks, plain: isPlain, cols, rows } = query.data;
  const viewport = cols === undefined || rows === undefined ? undefined : { cols, rows };
  return { name: name.data, mode, hasAcks, viewport, isPlain };
}

/** Undefined if it has a % that begins no escape. */
function unescaped(text = ""): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // its one way to say so
  }
}

function toAppError(error: unknown, log: Log): AppError {
  if (error instanceof AppError) return error;
  log.error({ err: error }, "attach failed");
  return new AppError("internal", "Something went wrong in the sidecar; its log says what.", {
    cause: error,
  });
}

function refuseUpgrade(socket: Duplex, error: AppError): void {
  const body = JSON.stringify({ error: error.message, code: error.code });
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? "Error"}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
