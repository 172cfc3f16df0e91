/** The connection against servers that are no good sidecars. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { until } from "../../test/support/wait.ts";
import { LINE_LIMITS, type Line, type LineEvents, openLine } from "./line.ts";

const RUNNING = JSON.stringify({ type: "status", status: "running", exitCode: null, signal: null });

const servers: Server[] = [];
const sockets: WebSocket[] = [];
const lines: Line[] = [];
afterEach(async () => {
  for (const line of lines.splice(0)) line.cut(new Error("the test is over"));
  for (const socket of sockets.splice(0)) socket.terminate();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(onSocket: (socket: WebSocket) => void): Promise<string> {
  const server = createServer();
  new WebSocketServer({ server }).on("connection", (socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined); // clients that cut the line are the point
    onSocket(socket);
  });
  return listen(server);
}

async function listen(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function open(url: string, events: Partial<LineEvents> = {}, limits = {}): Promise<Line> {
  const target = { url, token: "t".repeat(32), threadId: "a", mode: "type" as const, isPlain: true };
  const line = await openLine(
    target,
    { cols: 80, rows: 24 },
    { onBytes: async () => undefined, onSent: () => undefined, ...events },
    new AbortController().signal,
    { ...LINE_LIMITS, ...limits },
  );
  lines.push(line);
  return line;
}

// Promise: S44
test("what it asks for: the thread, its size, the token in a header and nowhere else", async () => {
  const seen: { url: string | undefined; authorization: string | undefined }[] = [];
  const server = createServer();
  new WebSocketServer({ server }).on("connection", (socket, { url, headers }) => {
    seen.push({ url, authorization: headers.authorization });
    socket.send(RUNNING);
  });
  await open(`${await listen(server)}/`);
  expect(seen).toEqual([
    {
      url: "/thread/a/attach?mode=type&acks=1&cols=80&rows=24&plain=1",
      authorization: `Bearer ${"t".repeat(32)}`,
    },
  ]);
});

test("a sidecar that takes the connection and says nothing is given up", async () => {
  const url = await serve(() => undefined);
  await expect(open(url, {}, { openTimeoutMs: 200 })).rejects.toMatchObject({
    code: "unavailable",
    message: `attach: ${url}: The connection is lost: took too long.`,
  });
});

test("one that falls silent later is lost", async () => {
  const url = await serve((socket) => socket.send(RUNNING));
  const line = await open(url, {}, { silenceMs: 200 });
  expect(await line.end).toEqual({
    kind: "lost",
    reason: "The connection is lost: the sidecar has gone silent.",
  });
});

test("one that only pings is alive", async () => {
  let timer: NodeJS.Timeout | undefined;
  let pings = 0;
  const url = await serve((socket) => {
    socket.send(RUNNING);
    timer = setInterval(() => {
      pings += 1;
      if (pings < 30) socket.ping();
      else socket.close(1001);
    }, 50);
  });
  try {
    const line = await open(url, {}, { silenceMs: 1_000 });
    expect(await line.end).toEqual({ kind: "lost", reason: "The sidecar stops." });
  } finally {
    clearInterval(timer);
  }
});

// Promise: S44
test.each<[string, RequestListener, string, RegExp]>([
  [
    "the sidecar's own refusal",
    (_request, response) => {
      response.statusCode = 401;
      response.end(JSON.stringify({ error: "No.", code: "unauthorized" }));
    },
    "unauthorized",
    /^No\.$/,
  ],
  ["another server", (_request, response) => response.end("hello"), "unavailable", /is no sidecar: HTTP 200/],
  [
    "a proxy whose sidecar is away",
    (_request, response) => {
      response.statusCode = 502;
      response.end("<html>");
    },
    "unavailable",
    /is no sidecar: HTTP 502/,
  ],
  [
    "a redirect, which would take the token elsewhere",
    (_request, response) => {
      response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
    },
    "unavailable",
    /is no sidecar: HTTP 302/,
  ],
  [
    "an answer without end",
    (_request, response) => {
      const more = () => {
        while (response.write("x".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    },
    "unavailable",
    /is no sidecar: HTTP 200/,
  ],
])("%s is told in words", async (_what, listener, code, message) => {
  const server = createServer(listener);
  server.on("upgrade", (request, socket) => {
    socket.on("error", () => undefined); // clients that have heard enough
    const lines = [`GET ${request.url} HTTP/1.1`, "host: x", "connection: close"];
    socket.unshift(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`));
    server.emit("connection", socket);
  });
  await expect(open(await listen(server))).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message),
  });
});

test("frames that nobody knows are passed over, too large ones end the connection", async () => {
  const url = await serve((socket) => {
    for (const text of ["", "no json", "{}", '{"type":"size"}', '{"type":"later"}', RUNNING])
      socket.send(text);
    socket.on("message", () => socket.send(Buffer.alloc(5 * 1024 * 1024)));
  });
  const line = await open(url);
  line.resize({ cols: 1, rows: 1 });
  expect(await line.end).toMatchObject({ kind: "lost", reason: expect.stringContaining("Max payload") });
});

test("bytes are acknowledged when they are drawn, not before", async () => {
  const acks: unknown[] = [];
  const url = await serve((socket) => {
    socket.send(RUNNING);
    for (let i = 0; i < 4; i++) socket.send(Buffer.alloc(10 * 1024));
    socket.on("message", (data) => {
      acks.push(JSON.parse(String(data)));
      if (acks.length === 3) socket.close(1001);
    });
  });
  const drawn: (() => void)[] = [];
  const line = await open(url, { onBytes: () => new Promise((resolve) => drawn.push(resolve)) });
  await until("all bytes to be there", () => drawn.length === 4);
  line.resize({ cols: 2, rows: 2 });
  await until("what comes before any acknowledgement", () => acks.length > 0);
  for (const draw of drawn) draw();
  await line.end;
  expect(acks).toEqual([
    { type: "viewport", cols: 2, rows: 2 },
    { type: "ack", bytes: 20 * 1024 },
    { type: "ack", bytes: 40 * 1024 },
  ]);
});

test("closing waits for what was typed as long as some of it leaves, and no longer", async () => {
  let received = 0;
  const url = await serve((socket) => {
    socket.send(RUNNING);
    socket.on("message", (data: Buffer) => {
      received += data.length;
      socket.pause();
      setTimeout(() => socket.resume(), 20); // a slow reader
    });
  });
  const slow = await open(url);
  const bytes = 8 * 1024 * 1024;
  slow.type(Buffer.alloc(bytes, "x"));
  await slow.close();
  expect({ unsent: slow.unsentBytes, received }).toEqual({ unsent: 0, received: bytes });

  const deafUrl = await serve((socket) => {
    socket.send(RUNNING);
    socket.pause();
  });
  const deaf = await open(deafUrl, {}, { closeGraceMs: 100 });
  deaf.type(Buffer.alloc(64 * 1024 * 1024));
  await deaf.close();
  expect(deaf.unsentBytes).toBeGreaterThan(0);
});
