/** The HTTP server below the routes: its limits, upgrades, and JSON for what never gets to a route. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Duplex } from "node:stream";
import { CONNECTION_LIMITS, type ConnectionLimits, limitConnections } from "./connections.ts";

/** A request must arrive within these; connections are kept far longer than clients keep them, so that none is reset. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  /** How often the two above are looked at. */
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 75_000,
  maxHeaderSize: 16 * 1024,
};

/** Requests of one connection behind one that has no answer yet. */
const MAX_WAITING = 1_000;

/** What a broken connection gets to read its answer. */
const LINGER_MS = 1_000;

export interface HttpServerOptions {
  app: RequestListener;
  /** Takes a request for a WebSocket. */
  onWebSocket: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  limits?: Partial<typeof LIMITS>;
  connections?: Partial<ConnectionLimits>;
}

export function createHttpServer({ app, onWebSocket, limits, connections }: HttpServerOptions): Server {
  const answers = new Answers();
  // Without a Host, Node itself would answer with no body.
  const take: RequestListener = (request, response) => {
    if (request.httpVersion === "1.1" && request.headers.host === undefined) {
      response.setHeader("connection", "close");
      return refuse(response, 400, "Host: the header is missing.");
    }
    app(request, response);
  };
  const server = createServer({ ...LIMITS, ...limits, requireHostHeader: false }, (request, response) => {
    answers.inTurn(request, response, () => take(request, response));
  });
  // The bytes of a head are bounded. Node would leave out what comes after a thousand headers, such as the length of a
  // body, which would then be read as the next request of a connection that goes through the server again.
  server.maxHeadersCount = 0;
  limitConnections(server, { ...CONNECTION_LIMITS, ...connections });
  server.on("checkExpectation", (request, response) => {
    answers.add(request, response);
    refuse(response, 417, "Expect: only 100-continue is known.");
  });
  const broken = new WeakSet<Duplex>();
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ECONNRESET") return void socket.destroy();
    if (broken.has(socket)) return; // more of the same
    broken.add(socket);
    answers.afterWholeRequests(socket, () => {
      // A reply to half a request: nothing may be put into the middle of it.
      if (!socket.writable || answers.hasBegun(socket)) socket.destroy();
      else answerBroken(socket, error.code);
    });
  });
  server.on("upgrade", (request, socket, head) => {
    const onError = () => socket.destroy();
    socket.on("error", onError);
    answers.afterWholeRequests(socket, () => {
      if (socket.destroyed) return;
      socket.off("error", onError);
      if (request.headers.upgrade?.toLowerCase() === "websocket") onWebSocket(request, socket, head);
      else ignoreUpgrade(server, request, socket, head);
    });
  });
  return server;
}

/** The requests of each connection that have no whole reply yet. */
class Answers {
  readonly #open = new WeakMap<Duplex, Set<{ request: IncomingMessage; response: ServerResponse }>>();

  add(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const open = this.#open.get(socket) ?? new Set();
    this.#open.set(socket, open);
    const exchange = { request, response };
    open.add(exchange);
    response.once("close", () => open.delete(exchange));
  }

  /**
   * Calls `act` once the requests before this one have their whole answers. Made at once, the answers of a connection
   * would wait in memory where nobody counts them.
   */
  inTurn(request: IncomingMessage, response: ServerResponse, act: () => void): void {
    const { socket } = request;
    const open = [...(this.#open.get(socket) ?? [])];
    this.add(request, response);
    const before = open.at(-1);
    if (!before) act();
    else if (open.length >= MAX_WAITING) socket.destroy();
    else before.response.once("close", () => !socket.destroyed && act());
  }

  /** What comes on a connection must not be answered in place of the requests before it. */
  afterWholeRequests(socket: Duplex, act: () => void): void {
    const whole = [...(this.#open.get(socket) ?? [])].filter(({ request }) => request.complete);
    const last = whole.at(-1);
    if (last) last.response.once("close", act);
    else act();
  }

  hasBegun(socket: Duplex): boolean {
    return [...(this.#open.get(socket) ?? [])].some(({ response }) => response.headersSent);
  }
}

/**
 * An upgrade that we don't offer is ignored, as HTTP wants it: the request goes through the server again without that
 * header. (Node 20 can't tell upgrades apart before it lets go of the connection.)
 */
function ignoreUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  const { rawHeaders } = request;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (name.toLowerCase() !== "upgrade") lines.push(`${name}: ${rawHeaders[i + 1]}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}

function refuse(response: ServerResponse, status: number, sentence: string): void {
  response.statusCode = status;
  response.setHeader("content-type", "application/json; charset=utf-8");
  response.end(JSON.stringify({ error: sentence, code: "invalid_request" }));
}

function answerBroken(socket: Duplex, code: string | undefined): void {
  const [status, sentence] = describeBroken(code);
  const body = JSON.stringify({ error: sentence, code: "invalid_request" });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "connection: close",
    "content-type: application/json; charset=utf-8",
    `content-length: ${body.length}`,
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  // Closed at once, with bytes still coming, the connection would be reset before the answer is read.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}

function describeBroken(code: string | undefined): [number, string] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [431, "The request's headers are too long."];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "The request took too long to arrive."];
    default:
      return [400, "The request is not valid HTTP."];
  }
}
