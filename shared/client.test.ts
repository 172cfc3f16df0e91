import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { refusal } from "../test/support/threads.ts";
import { SidecarClient } from "./client.ts";
import { VERSION } from "./version.ts";

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Whatever answers at an address, as a client sees it. */
async function clientOf(status: number, body: string, timeoutMs?: number): Promise<SidecarClient> {
  server = createServer((_req, res) => {
    if (status > 0) res.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const more = timeoutMs === undefined ? {} : { timeoutMs };
  return new SidecarClient({ url: `http://127.0.0.1:${port}/`, token: "t".repeat(32), ...more });
}

test.each([
  [
    "an error of the sidecar's",
    409,
    '{"error":"It is there.","code":"thread_exists"}',
    "thread_exists",
    /^It is there\.$/,
  ],
  ["something else", 502, "<html>Bad gateway</html>", "unavailable", /is no sidecar: HTTP 502/],
  [
    "an error with a code of another version",
    418,
    '{"error":"x","code":"teapot"}',
    "unavailable",
    /is no sidecar: HTTP 418/,
  ],
  [
    "a reply of another version",
    200,
    '{"threads":[{"id":1}]}',
    "unavailable",
    /should be of the same version/,
  ],
  ["no JSON", 200, "OK", "unavailable", /should be of the same version/],
])("%s is told in words", async (_name, status, body, code, message) => {
  const client = await clientOf(status, body);
  expect(await refusal(client.listThreads())).toEqual({ code, message: expect.stringMatching(message) });
});

test("one that does not answer in time, or is not there", async () => {
  const slow = await clientOf(0, "", 50);
  expect(await refusal(slow.listThreads())).toMatchObject({ code: "unavailable" });
  const nobody = new SidecarClient({ url: "http://127.0.0.1:1", token: "x" });
  expect(await refusal(nobody.listThreads())).toEqual({
    code: "unavailable",
    message: expect.stringMatching(/^The sidecar at http:\/\/127\.0\.0\.1:1 does not answer: .+\.$/),
  });
});

test("the version is package.json's", async () => {
  const { default: json } = await import("../package.json", { with: { type: "json" } });
  expect(VERSION).toBe(json.version);
});
