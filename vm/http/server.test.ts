import { once } from "node:events";
import type { RequestListener } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { createHttpServer } from "./server.ts";

const H2C =
  "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n";
const HOST = "Host: here\r\n";
const LAST = "Connection: close\r\n";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Says what it was asked, once the body is there; at `/slow` when told to. */
async function start(options: Partial<Parameters<typeof createHttpServer>[0]> = {}) {
  const waiting: (() => void)[] = [];
  const app: RequestListener = async (request, response) => {
    const body = await readText(request).catch(() => undefined);
    if (body === undefined) return; // cut off
    const say = () => response.end(`${request.method} ${request.url} ${request.headers.upgrade} ${body};`);
    if (request.url === "/slow") waiting.push(say);
    else say();
  };
  const server = createHttpServer({
    app,
    onWebSocket: (_request, socket) => socket.end("HTTP/1.1 101 A WebSocket\r\n\r\n"),
    ...options,
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const open = (): Socket => connect(port, "127.0.0.1");
  /** All that is answered, until the server closes. */
  const ask = async (...pieces: string[]) => {
    const socket = open();
    for (const piece of pieces) socket.write(piece);
    return readText(socket);
  };
  return { ask, open, waiting };
}

const bodyOf = (reply: string) => JSON.parse(reply.slice(reply.lastIndexOf("\r\n\r\n") + 4));

test("an upgrade that is none to a WebSocket is ignored, body and all", async () => {
  const { ask } = await start();
  const first = `POST /one HTTP/1.1\r\n${HOST}${H2C}Content-Length: 5\r\n\r\n12345`;
  const second = `POST /two HTTP/1.1\r\n${HOST}${H2C}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n`;
  const third = `GET /three HTTP/1.1\r\n${HOST}${LAST}\r\n`;
  const replies = await ask(first, second, third);
  expect(replies.match(/HTTP\/1.1 .+|\w+ \/\w+ undefined.*?;/g)).toEqual([
    "HTTP/1.1 200 OK",
    "POST /one undefined 12345;",
    "HTTP/1.1 200 OK",
    "POST /two undefined ab;",
    "HTTP/1.1 200 OK",
    "GET /three undefined ;",
  ]);
  expect(await ask(`GET / HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n`)).toMatch(
    /^HTTP\/1.1 101 /,
  );
});

// Promise: S37
test("an ignored upgrade keeps its body to itself, however many headers stand before the body's length", async () => {
  const { ask } = await start();
  const hidden = `GET /hidden HTTP/1.1\r\n${HOST}${LAST}\r\n`;
  const head = `POST /one HTTP/1.1\r\n${HOST}${H2C}${"a:\r\n".repeat(1_100)}Content-Length: ${hidden.length}\r\n\r\n`;
  const replies = await ask(head, hidden, `GET /two HTTP/1.1\r\n${HOST}${LAST}\r\n`);
  expect(replies.match(/\w+ \/\w+ undefined/g)).toEqual(["POST /one undefined", "GET /two undefined"]);
  expect(replies).toContain(`POST /one undefined ${hidden}`);
});

test.each([
  [
    "garbage",
    "GARBAGE\r\n\r\n",
    /^HTTP\/1.1 200 OK\r\n.*GET \/slow undefined ;HTTP\/1.1 400 Bad Request\r\n/s,
  ],
  [
    "a WebSocket",
    `GET / HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    /^HTTP\/1.1 200 OK\r\n.*GET \/slow undefined ;HTTP\/1.1 101 A WebSocket\r\n\r\n$/s,
  ],
  [
    "another upgrade",
    `GET /next HTTP/1.1\r\n${HOST}${H2C.replace("Upgrade,", "Upgrade, close,")}\r\n`,
    /^HTTP\/1.1 200 OK\r\n.*GET \/slow undefined ;HTTP\/1.1 200 OK\r\n.*GET \/next undefined ;$/s,
  ],
])("%s behind a request waits for that request's own reply", async (_name, bytes, expected) => {
  const { open, waiting } = await start();
  const socket = open();
  socket.write(`GET /slow HTTP/1.1\r\n${HOST}\r\n${bytes}`);
  const replies = readText(socket);
  await expect.poll(() => waiting.length).toBe(1);
  for (const say of waiting) say();
  expect(await replies).toMatch(expected);
});

test.each([
  ["half the headers", `GET / HTTP/1.1\r\n${HOST}`],
  ["half a body", `POST / HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\n123`],
])("%s and no more: 408, in time", async (_name, bytes) => {
  const limits = { headersTimeout: 100, requestTimeout: 100, connectionsCheckingInterval: 50 };
  const { ask } = await start({ limits });
  const reply = await ask(bytes);
  expect(reply).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/);
  expect(bodyOf(reply)).toEqual({ error: expect.stringContaining("too long"), code: "invalid_request" });
});

test.each([
  ["no Host", `GET / HTTP/1.1\r\n\r\n`, 400, "Host: "],
  ["an unknown Expect", `GET / HTTP/1.1\r\n${HOST}${LAST}Expect: a miracle\r\n\r\n`, 417, "Expect: "],
  [
    "a broken body",
    `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    400,
    "not valid HTTP",
  ],
])("%s is answered in JSON", async (_name, bytes, status, sentence) => {
  const { ask } = await start();
  const reply = await ask(bytes);
  expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(bodyOf(reply)).toEqual({ error: expect.stringContaining(sentence), code: "invalid_request" });
});

test("HTTP/1.0 needs no Host", async () => {
  const { ask } = await start();
  expect(await ask("GET /old HTTP/1.0\r\n\r\n")).toMatch(/GET \/old undefined ;$/);
});

// Promise: S38
test("of many requests at once each is begun when those before it are answered, and taken", async () => {
  let begun = 0;
  const app: RequestListener = (_request, response) => {
    begun += 1;
    setImmediate(() => response.end(Buffer.alloc(1024 * 1024, "x")));
  };
  const { open, ask } = await start({ app });
  const stalled = open();
  stalled.pause();
  stalled.write(`GET / HTTP/1.1\r\n${HOST}\r\n`.repeat(99));
  stalled.write(`GET / HTTP/1.1\r\n${HOST}${LAST}\r\n`);
  await expect.poll(() => begun).toBeGreaterThan(0);
  // What the kernel takes for the one that reads nothing is some megabytes.
  for (let i = 0; i < 20; i++) await ask(`GET / HTTP/1.1\r\n${HOST}${LAST}\r\n`);
  expect(begun).toBeLessThan(20 + 50);
  expect((await readText(stalled)).match(/HTTP\/1.1 200 OK/g)).toHaveLength(100);
});

// Promise: S38
test("a connection with too many requests that wait is cut off", async () => {
  const { open, waiting } = await start();
  const socket = open();
  const cut = once(socket, "close");
  socket.write(`GET /slow HTTP/1.1\r\n${HOST}\r\n`.repeat(1_002));
  await cut;
  expect(waiting).toHaveLength(1);
});
