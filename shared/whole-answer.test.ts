import { spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { refusal } from "../test/support/threads.ts";
import { until } from "../test/support/wait.ts";
import { SidecarClient } from "./client.ts";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener, port = 0) {
  // As the sidecar has it.
  const server = createServer({ keepAliveTimeout: 75_000 }, listener);
  servers.push(server);
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const { port: own } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${own}`;
  return { server, sockets, port: own, url, client: new SidecarClient({ url, token: "t".repeat(32) }) };
}

const threads: RequestListener = (_req, res) => void res.end('{"threads":[]}');

test("a connection is kept for the next call, and closed when the server's time for it is over", async () => {
  const { client, sockets } = await serve((_req, res) => {
    res.setHeader("keep-alive", "timeout=2"); // itself, this one waits for 75 s
    res.end('{"threads":[]}');
  });
  for (let i = 0; i < 5; i++) expect(await client.listThreads()).toEqual([]);
  expect(sockets).toHaveLength(1);
  await until("it to be closed", () => sockets[0]?.destroyed === true);
  expect(await client.listThreads()).toEqual([]);
  expect(sockets).toHaveLength(2);
});

test("calls at once do not wait for one another", async () => {
  let waiting: (() => void)[] = [];
  const { client } = await serve((_req, res) => {
    waiting.push(() => res.end('{"threads":[]}'));
    if (waiting.length < 20) return;
    for (const answer of waiting) answer();
    waiting = [];
  });
  const replies = await Promise.all(Array.from({ length: 20 }, () => client.listThreads()));
  expect(replies).toHaveLength(20);
});

test("a kept connection keeps no process alive", async () => {
  const { url } = await serve(threads);
  const program = `
    import { subscribe } from "node:diagnostics_channel";
    import { SidecarClient } from "./shared/client.ts";
    const sockets = [];
    subscribe("net.client.socket", ({ socket }) => sockets.push(socket));
    await new SidecarClient({ url: ${JSON.stringify(url)}, token: "t" }).listThreads();
    process.on("exit", () => console.log(sockets.map(({ destroyed }) => destroyed)));`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    stdio: ["ignore", "pipe", "inherit"],
  });
  expect(await readText(child.stdout)).toBe("[ false ]\n");
});

test("connections of a sidecar that has ended do no harm to the calls to the next one", async () => {
  const first = await serve(threads);
  const { client, port } = first;
  const own: Socket[] = [];
  const note = (message: unknown) => own.push((message as { socket: Socket }).socket);
  subscribe("net.client.socket", note);
  onTestFinished(() => void unsubscribe("net.client.socket", note));
  await Promise.all(Array.from({ length: 10 }, () => client.listThreads()));
  for (const socket of first.sockets) socket.resetAndDestroy(); // as by kill -9
  first.server.close();
  await once(first.server, "close");
  await serve(threads, port);
  await until("the client to know", () => own.every(({ destroyed }) => destroyed));
  expect(own).toHaveLength(10);
  for (let i = 0; i < 20; i++) expect(await client.listThreads()).toEqual([]);
});

// Promise: S43
test("no redirect is followed: the token goes to the configured address alone", async () => {
  let asked = 0;
  const other = await serve((_req, res) => {
    asked += 1;
    res.end('{"threads":[]}');
  });
  const { client } = await serve(
    (_req, res) => void res.writeHead(307, { location: `${other.url}/threads` }).end(),
  );
  expect(await refusal(client.listThreads())).toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/is no sidecar: HTTP 307 without a content type; something between/),
  });
  expect(await refusal(client.downloadLog("any").next())).toMatchObject({ code: "unavailable" });
  expect(asked).toBe(0);
});

test("an answer that breaks off is none", async () => {
  const { client } = await serve((_req, res) => {
    res.writeHead(200, { "content-length": 14 });
    res.write('{"threads":', () => res.destroy());
  });
  expect(await refusal(client.listThreads())).toMatchObject({ code: "unavailable" });
});

test("an answer without an end is given up before it costs much memory, and its connection is closed", async () => {
  let isOpen = false;
  const { client } = await serve((_req, res) => {
    isOpen = true;
    res.on("close", () => {
      isOpen = false;
    });
    const piece = Buffer.alloc(1024 * 1024, "x");
    const fill = () => {
      while (isOpen && res.write(piece));
    };
    res.on("drain", fill);
    fill();
  });
  expect(await refusal(client.listThreads())).toEqual({
    code: "unavailable",
    message: expect.stringMatching(/does not answer: its answer has more than 67108864 bytes\.$/),
  });
  await until("its connection to be closed", () => !isOpen);
});

test("a call that is given up ends at once, its connection too; the next one is well", async () => {
  let isFirst = true;
  const { client, sockets } = await serve((_req, res) => {
    if (!isFirst) res.end('{"items":[]}');
    isFirst = false;
  });
  const controller = new AbortController();
  const given = refusal(client.listInbox({}, controller.signal));
  await until("the request to arrive", () => !isFirst);
  controller.abort();
  expect(await given).toMatchObject({ code: "unavailable" });
  await until("its connection to be closed", () => sockets[0]?.destroyed === true);
  expect(await refusal(client.listInbox({}, controller.signal))).toMatchObject({ code: "unavailable" });
  expect(await client.listInbox()).toEqual([]);
});

test("characters that are cut between two pieces of an answer are whole", async () => {
  const bytes = Buffer.from('{"threads":[],"x":"ä€😀"}');
  const { client } = await serve(async (_req, res) => {
    for (const byte of bytes) await new Promise((resolve) => res.write(Buffer.of(byte), resolve));
    res.end();
  });
  expect(await client.listThreads()).toEqual([]);
});

test("an address that is no address, or of another protocol, is named and never asked", async () => {
  const { port, sockets } = await serve(threads);
  for (const [url, why] of [
    ["127.0.0.1", /Invalid URL/],
    [`ftp://127.0.0.1:${port}`, /Protocol "ftp:" not supported/],
  ] as const) {
    const { code, message } = await refusal(new SidecarClient({ url, token: "t" }).listThreads());
    expect(code).toBe("unavailable");
    expect(message).toContain(url);
    expect(message).toMatch(why);
  }
  expect(sockets).toEqual([]);
});
