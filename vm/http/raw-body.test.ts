import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text as readText } from "node:stream/consumers";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { until } from "../../test/support/wait.ts";
import { RawBodies } from "./raw-body.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function start(limits = { maxBytes: 1_000, maxTotalBytes: 10_000 }) {
  const bodies = new RawBodies(limits);
  const server = createServer(async (request, response) => {
    try {
      const body = await bodies.read(request);
      response.end(`${body.length} ${body.subarray(0, 10)}`);
    } catch (error) {
      response.end((error as Error).message);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const { port } = server.address() as AddressInfo;
  const post = async (body: Buffer | string, headers: Record<string, string> = {}) =>
    (await fetch(`http://127.0.0.1:${port}`, { method: "POST", body: Buffer.from(body), headers })).text();
  const open = () => connect(port, "127.0.0.1");
  return { post, open };
}

test("a body comes as it was, inflated if it has to be", async () => {
  const { post } = await start();
  const text = "0123456789abc";
  expect(await post(text)).toBe("13 0123456789");
  expect(await post("")).toBe("0 ");
  expect(await post(gzipSync(text), { "content-encoding": "GZIP" })).toBe("13 0123456789");
  expect(await post(deflateSync(text), { "content-encoding": "deflate" })).toBe("13 0123456789");
  expect(await post(brotliCompressSync(text), { "content-encoding": "br" })).toBe("13 0123456789");
  expect(await post(text, { "content-encoding": "constructor" })).toMatch(/^content-encoding: must be/);
  expect(await post(text, { "content-encoding": "gzip" })).toBe(
    "The body is not what content-encoding says.",
  );
  expect(await post(gzipSync(text).subarray(0, 20), { "content-encoding": "gzip" })).toMatch(
    /content-encoding/,
  );
});

test("the bound is of what it inflates to, and is told to who sent it", async () => {
  const { post, open } = await start();
  const tooLarge = "The body may have at most 1,000 bytes.";
  expect(await post("x".repeat(1_000))).toMatch(/^1000 /);
  expect(await post("x".repeat(1_001))).toBe(tooLarge);
  expect(await post("x".repeat(3_000_000))).toBe(tooLarge);
  expect(await post(gzipSync("x".repeat(50_000_000)), { "content-encoding": "gzip" })).toBe(tooLarge);
  const socket = open();
  const chunk = `1000\r\n${"x".repeat(0x1000)}\r\n`;
  socket.write(
    `POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`,
  );
  expect(await readText(socket)).toContain(tooLarge);
});

test("bodies that are held back lose their place to those that come, the oldest first", async () => {
  const { post, open } = await start({ maxBytes: 1_000, maxTotalBytes: 2_500 });
  const held: { isClosed: () => boolean }[] = [];
  for (let index = 0; index < 3; index++) {
    const socket = open();
    let isClosed = false;
    socket
      .on("error", () => undefined)
      .on("close", () => {
        isClosed = true;
      });
    closers.push(() => socket.destroy());
    await once(socket, "connect");
    socket.write(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n${"x".repeat(900)}`);
    held.push({ isClosed: () => isClosed });
    if (index < 2) expect(await post("quick")).toBe("5 quick");
  }
  await until("the oldest to lose its connection", () => held[0]?.isClosed());
  expect(held.map((one) => one.isClosed())).toEqual([true, false, false]);
  expect(await post("quick")).toBe("5 quick");
});
