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
async function clientOf(
  status: number,
  body: string,
  { timeoutMs, type, login = "" }: { timeoutMs?: number; type?: string; login?: string } = {},
): Promise<SidecarClient> {
  server = createServer((_req, res) => {
    if (type !== undefined) res.setHeader("content-type", type);
    if (status > 0) res.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const more = timeoutMs === undefined ? {} : { timeoutMs };
  return new SidecarClient({ url: `http://${login}127.0.0.1:${port}/`, token: "t".repeat(32), ...more });
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
  ["no JSON", 200, "OK", "unavailable", /HTTP 200 without a content type where JSON is expected; something/],
])("%s is told in words", async (_name, status, body, code, message) => {
  const client = await clientOf(status, body);
  expect(await refusal(client.listThreads())).toEqual({ code, message: expect.stringMatching(message) });
});

const PAGE = "<!doctype html><title>Sign in</title>";
const all = async (bytes: AsyncIterable<Uint8Array>) => {
  for await (const _ of bytes);
};

test.each<[string, string, string, (client: SidecarClient) => Promise<unknown>]>([
  ["a list", "GET /threads", "JSON", (client) => client.listThreads()],
  ["a request without a reply", "PUT /thread/t/title", "nothing", (client) => client.setTitle("t", "x")],
  [
    "a log",
    "GET /thread/t/log",
    "application/octet-stream or text/plain",
    (client) => all(client.downloadLog("t")),
  ],
  [
    "a file",
    "GET /thread/t/attachments/a.txt",
    "application/octet-stream",
    (client) => all(client.downloadAttachment("t", "a.txt")),
  ],
  ["a picture", "GET /thread/t/picture", "image/png", (client) => all(client.downloadPicture("t"))],
])(
  "a page in place of %s names its address and who may have answered",
  async (_what, asked, wanted, call) => {
    const client = await clientOf(200, PAGE, { type: "text/html; charset=utf-8", login: "ada:secret@" });
    const [method, path] = asked.split(" ");
    const { port } = (server as Server).address() as AddressInfo;
    expect(await refusal(call(client))).toEqual({
      code: "unavailable",
      message: `What answers ${method} http://127.0.0.1:${port}${path} is no sidecar: HTTP 200 with text/html; charset=utf-8 where ${wanted} is expected; something between, such as a proxy or a sign-in page, or another program answers in the sidecar's place.`,
    });
  },
);

test("the sidecar's own refusal of a download is told, and an endless one is not kept", async () => {
  const own = await clientOf(404, '{"error":"It is gone.","code":"not_found"}', { type: "application/json" });
  expect(await refusal(all(own.downloadLog("t")))).toEqual({ code: "not_found", message: "It is gone." });
  server?.close();
  const long = await clientOf(502, PAGE.repeat(10_000), { type: "text/html" });
  expect(await refusal(all(long.downloadLog("t")))).toMatchObject({
    message: expect.stringMatching(/log is no sidecar: HTTP 502 with text\/html; something between/),
  });
});

test("why nobody is reached at any of a name's addresses is said", async () => {
  await clientOf(200, "");
  const { port } = (server as Server).address() as AddressInfo;
  await new Promise((resolve) => server?.close(resolve));
  const nobody = new SidecarClient({ url: `http://localhost:${port}`, token: "x" });
  for (const call of [() => nobody.listThreads(), () => all(nobody.downloadLog("t"))])
    expect((await refusal(call())).message).toMatch(
      /^The sidecar at http:\/\/localhost:\d+ does not answer: connect ECONNREFUSED [^ ]+:\d+(, .+)?\.$/,
    );
});

test("one that does not answer in time, or is not there", async () => {
  const slow = await clientOf(0, "", { timeoutMs: 50 });
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
