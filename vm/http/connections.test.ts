import { once } from "node:events";
import type { RequestListener } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { until } from "../../test/support/wait.ts";
import { markKnown } from "../callers/known.ts";
import { type ConnectionLimits, maxConnectionsOf } from "./connections.ts";
import { createHttpServer } from "./server.ts";

const MIB = 1024 * 1024;
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** `/large` answers with 16 MiB at once, `/known` makes its connection a known one. */
async function start(connections: Partial<ConnectionLimits>) {
  const app: RequestListener = (request, response) => {
    if (request.url === "/known") markKnown(request);
    response.end(request.url === "/large" ? Buffer.alloc(16 * MIB) : "here");
  };
  const server = createHttpServer({ app, onWebSocket: () => undefined, connections });
  const count = { opened: 0, closed: 0 };
  server.on("connection", (socket) => {
    count.opened += 1;
    socket.on("close", () => {
      count.closed += 1;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const open = (): Socket => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined); // being cut off is the point
    closers.push(() => void socket.destroy());
    return socket;
  };
  const ask = (path: string) => {
    const socket = open();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`);
    return socket;
  };
  return { open, ask, count };
}

// Promise: S38
test("who takes nothing of an answer for too long is cut off; who reads on is not, however slowly", async () => {
  const { ask, count } = await start({ stallTimeoutMs: 1_000, lookIntervalMs: 50 });
  const stalled = ask("/large");
  stalled.pause();
  const slow = ask("/large");
  let got = 0;
  slow.on("data", (chunk: Buffer) => {
    got += chunk.length;
    slow.pause();
    setTimeout(() => slow.resume(), 4);
  });
  await until("the stalled one to be cut off", () => count.closed === 1);
  await until("the slow one to have it all", () => got >= 16 * MIB);
  expect(count.closed).toBe(1);
});

// Promise: S38
test("what waits to be taken is bounded over all connections: those that hold most end", async () => {
  const { ask, count } = await start({ maxUnreadBytes: 40 * MIB, lookIntervalMs: 50 });
  for (let i = 0; i < 8; i++) ask("/large").pause();
  await until("most to be cut off", () => count.opened === 8 && count.closed === 6);
  const socket = ask("/");
  expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1.1 200 OK/);
});

// Promise: S38
test("half requests do not keep others out: the oldest that nobody knows ends, a known one never", async () => {
  const { open, ask, count } = await start({ maxConnections: 20 });
  const friend = ask("/known");
  await once(friend, "data");
  for (let i = 0; i < 100; i++) open().write("GET / HTTP/1.1\r\nHost:");
  await until("all but 20 to be cut off", () => count.opened === 101 && count.closed === 81);
  const newcomer = open();
  newcomer.write("GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
  expect(await readText(newcomer)).toMatch(/^HTTP\/1.1 200 OK/);
  friend.write("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
  expect(String((await once(friend, "data"))[0])).toMatch(/^HTTP\/1.1 200 OK/);
});

// Promise: S38
test.each([
  ["20", 10],
  ["200", 100],
  ["1024", 924],
  ["1048576", 1_000],
  ["unlimited", 900],
])("of %s descriptors connections take %i at most", (soft, most) => {
  const limits = `Max cpu time              unlimited            unlimited            seconds
Max open files            ${soft.padEnd(20)} 1048576              files
Max locked memory         8388608              8388608              bytes
`;
  expect(maxConnectionsOf(limits)).toBe(most);
});
