/** Who gets in, what is counted, what is described, and that nothing that is sent makes the sidecar stumble. */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { Writable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createOpenApi } from "../../shared/protocol/openapi.ts";
import { ROUTES } from "../../shared/protocol/routes.ts";
import { VERSION } from "../../shared/version.ts";
import { buildPages } from "../support/console.ts";
import { inFull } from "../support/faults.ts";
import { awakeMs } from "../support/measure.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
const REQUESTS = inFull(10_000, 500);
const logLines: string[] = [];

/** Stands in for the sidecar's clock while it is set. */
let stoppedAt: number | undefined;

beforeAll(async () => {
  buildPages();
  const stream = new Writable({
    write(chunk, _encoding, done) {
      logLines.push(String(chunk));
      done();
    },
  });
  const now = () => stoppedAt ?? Date.now();
  sidecar = await startSidecar({ maxThreads: 20 }, { log: pino({ level: "trace" }, stream), now });
});
afterAll(() => sidecar?.close());

const get = (path: string, headers: Record<string, string> = { authorization: `Bearer ${sidecar.token}` }) =>
  fetch(`${sidecar.url}${path}`, { headers });

/** What the sidecar answers to these bytes, until it closes. */
async function say(bytes: string, url = sidecar.url): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  return readText(socket);
}

/** The console's page, asked for by a name that is not this machine's. */
const rebound = (url: string) =>
  say("GET /console HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n", url);

test("the version is package.json's", () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  expect(VERSION).toBe(version);
});

test("GET /openapi.json is the description of exactly the routes that there are", async () => {
  const served = await (await get("/openapi.json")).json();
  expect(served).toEqual(JSON.parse(JSON.stringify(createOpenApi())));
  for (const route of ROUTES) {
    const path = route.path.replace(":id", "nobody");
    const response = await fetch(`${sidecar.url}${path}`, {
      method: route.method.toUpperCase(),
      headers: { authorization: `Bearer ${sidecar.token}`, "content-type": "application/json" },
      ...(route.body ? { body: "{}" } : {}),
    });
    const { error = "" } = response.headers.get("content-type")?.includes("json")
      ? await response.json()
      : {};
    expect(error, `${route.method} ${route.path}`).not.toContain("in this API");
  }
  const create = served.paths["/thread/create"].post;
  expect(Object.keys(create.requestBody.content["application/json"].schema.properties)).toContain("dir");
  expect(Object.keys(create.responses)).toEqual([
    "201",
    "400",
    "401",
    "403",
    "404",
    "409",
    "413",
    "429",
    "500",
    "503",
  ]);
});

test("metrics count threads, bytes, latencies, and wrong tokens", async () => {
  const { client } = sidecar;
  await openTerminal(client, "counted", "cat");
  await client.sendInput("counted", { text: "12345" });
  await untilOutput(client, "counted", "12345\r\n12345");
  await get("/threads", {});
  const text = await (await get("/metrics")).text();
  const value = (name: string) =>
    Number(new RegExp(`^${name.replace(/[{}"]/g, "\\$&")} (.*)$`, "m").exec(text)?.[1]);
  expect(value('threadmux_threads{status="running"}')).toBe(1);
  expect(value("threadmux_input_bytes_total")).toBe(5);
  expect(value("threadmux_output_bytes_total")).toBeGreaterThanOrEqual(14);
  expect(value("threadmux_input_seconds_count")).toBe(1);
  expect(value("threadmux_tmux_command_seconds_count")).toBeGreaterThan(2);
  expect(value("threadmux_wrong_tokens_total")).toBe(1);
  expect(value("threadmux_tmux_up")).toBe(1);
  expect(value("threadmux_nodejs_eventloop_lag_seconds")).toBeLessThan(60);
  expect(text).not.toContain("lag_p99"); // only measured by waking up all the time
  expect(
    value('threadmux_http_request_seconds_count{method="POST",route="/thread/:id/input",status="200"}'),
  ).toBe(1);
  expect((await get("/metrics", {})).status).toBe(401);
});

test("a client that offers HTTP/2, or sends a whole address, is answered in HTTP/1.1, and is no wrong token", async () => {
  const wrong = async () =>
    /^threadmux_wrong_tokens_total .*$/m.exec(await (await get("/metrics")).text())?.[0];
  const before = await wrong();
  const h2c =
    "host: localhost\r\nconnection: Upgrade, HTTP2-Settings, close\r\nupgrade: h2c\r\nhttp2-settings: AAMA";
  expect(await say(`GET /healthz HTTP/1.1\r\n${h2c}\r\n\r\n`)).toMatch(/^HTTP\/1.1 200 OK\r\n.*"ok":true/s);
  expect(
    await say("GET http://localhost/healthz?x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"),
  ).toMatch(/^HTTP\/1.1 200 OK\r\n.*"ok":true/s);
  const token = `authorization: Bearer ${sidecar.token}`;
  expect(await say(`GET /threads HTTP/1.1\r\n${token}\r\n${h2c}\r\n\r\n`)).toMatch(
    /^HTTP\/1.1 200 .*"threads":/s,
  );
  expect(await wrong()).toBe(before);
});

// Promise: S36
test("logs have request and thread ids, and never a secret or a line of the terminal", async () => {
  const { client, token } = sidecar;
  await openTerminal(client, "logged", "echo sec''ret-output; cat");
  await untilOutput(client, "logged", "secret-output");
  await client.sendInput("logged", { text: "secret-input" });
  await untilOutput(client, "logged", "secret-input\r\nsecret-input");
  const response = await get("/thread/logged?x=secret-query");
  const requestId = response.headers.get("x-request-id") ?? "";
  const knock = `GET //[?x=secret-query HTTP/1.1\r\nauthorization: Bearer ${token}\r\nconnection: upgrade`;
  expect(await say(`${knock}\r\nupgrade: websocket\r\n\r\n`)).toMatch(/^HTTP\/1.1 404 /);
  // An answer is logged after it was sent, so the caller can have it before the log has its line.
  const line = await until("the line of the request", () =>
    logLines.find((entry) => entry.includes(requestId)),
  );
  const all = logLines.join("");
  expect(all).not.toMatch(/secret-(output|input|query)/);
  expect(all).not.toContain(token);
  expect(JSON.parse(line)).toMatchObject({
    method: "GET",
    route: "/thread/:id",
    status: 200,
    threadId: "logged",
  });
});

// Promise: S2
test("20 wrong tokens within a minute slow their address down; the right one never waits", async () => {
  const wrong = () => get("/threads", { authorization: "Bearer wrong" });
  const quick = await Promise.all(Array.from({ length: 18 }, wrong));
  expect(quick.every((response) => response.status === 401)).toBe(true);
  await wrong();
  const startedAt = performance.now();
  let isAnswered = false;
  const slow = Promise.all([wrong(), wrong(), wrong()]);
  void slow.then(() => {
    isAnswered = true;
  });
  expect((await get("/threads")).status).toBe(200);
  expect(isAnswered).toBe(false);
  expect((await slow).at(-1)?.status).toBe(401);
  expect(performance.now() - startedAt).toBeGreaterThan(1_900);
});

describe("refusals", () => {
  let own: TestSidecar;
  let lines: string[];
  beforeEach(async () => {
    lines = [];
    const stream = new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    });
    own = await startSidecar({}, { log: pino({ level: "info" }, stream) });
  });
  afterEach(() => own.close());

  const wrong = () => fetch(`${own.url}/threads`, { headers: { authorization: "Bearer wrong" } });
  const refusals = () =>
    lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith("requests refused"));

  // Promise: S2
  test("in parallel do not come faster: an address gets one answer in 2 s, the rest is cut off", async () => {
    await Promise.all(Array.from({ length: 20 }, wrong));
    const startedAt = performance.now();
    const answers: number[] = [];
    let cut = 0;
    const all = Array.from({ length: 200 }, () =>
      wrong().then(
        () => answers.push(performance.now() - startedAt),
        () => (cut += 1),
      ),
    );
    const cutMs = await awakeMs(() => until("most of them to be cut off", () => cut >= 180));
    expect(cutMs).toBeLessThan(10_000);
    const rightMs = await awakeMs(async () => {
      const headers = { authorization: `Bearer ${own.token}` };
      expect((await fetch(`${own.url}/threads`, { headers })).status).toBe(200);
    });
    expect(rightMs).toBeLessThan(1_900); // the right one never waits
    await until("three slow answers", () => answers.length >= 3);
    answers.sort((one, other) => one - other);
    for (const [i, ms] of answers.entries()) expect(ms).toBeGreaterThan((i + 1) * 1_900);
    await own.stop();
    await Promise.all(all);
    expect(answers.length).toBeLessThan(20);
  });

  // Promise: S3
  test("are counted: the log has one line a minute for an address, whatever was refused", async () => {
    const ask = (path: string, init: RequestInit = {}) =>
      fetch(`${own.url}${path}`, init).catch(() => undefined);
    const knock = `GET /thread/a/attach HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n`;
    for (let i = 0; i < 100; i++) {
      await Promise.all([ask("/healthz", { method: "HEAD" }), ask("/console", { method: "HEAD" })]);
    }
    expect(lines.filter((line) => line.includes('"request"'))).toEqual([]);
    await Promise.all(
      [
        ...Array.from({ length: 6 }, wrong),
        ...Array.from({ length: 6 }, () => ask("/console", { method: "POST" })),
        ...Array.from({ length: 6 }, () => ask("/nowhere")),
        ...Array.from({ length: 10 }, () => rebound(own.url)),
      ].map((reply) => reply.catch(() => undefined)),
    );
    await say(knock, own.url);
    await own.stop();
    expect(refusals()).toEqual([expect.objectContaining({ level: 40, address: "127.0.0.1", refused: 29 })]);
    expect(lines.filter((line) => line.includes('"request"'))).toEqual([]);
  });
});

// Promise: S37
test("input that comes faster than anybody types is refused with a clear answer", async () => {
  const { client } = sidecar;
  await openTerminal(client, "fast", "stty raw -echo; echo ready; cat > /dev/null");
  await untilOutput(client, "fast", "ready"); // before that, lines of this length are refused
  const text = "x".repeat(900_000);
  // Else a slow machine takes so long for them that they come no faster than they may.
  stoppedAt = Date.now();
  onTestFinished(() => {
    stoppedAt = undefined;
  });
  const replies = await Promise.all(
    Array.from({ length: 8 }, () =>
      client.sendInput("fast", { text, enter: false }).then(
        () => "sent",
        (error) => error.code,
      ),
    ),
  );
  expect(replies).toContain("rate_limited");
  // Whatever was not typed, its sender was told.
  expect(replies.filter((reply) => !["sent", "rate_limited", "unavailable"].includes(reply))).toEqual([]);
});

// Promise: S37
test(`${REQUESTS} random requests at every route: no 500, no hang`, async () => {
  const { token, url, client } = sidecar;
  await openTerminal(client, "fuzzed", "cat");
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.constantFrom("..", "/", "%", "%00", "#{pid}", "thread"),
  );
  const id = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("fuzzed", "nobody") },
    { weight: 1, arbitrary: text },
  );
  const field = fc.constantFrom(
    "threadId",
    "type",
    "dir",
    "command",
    "cols",
    "rows",
    "text",
    "enter",
    "inputId",
    "key",
    "since",
    "limit",
    "waitMs",
    "status",
    "offset",
    "format",
    "prefix",
    "__proto__",
  );
  const value = fc.oneof(
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom("terminal", "agent", ".", "C-c"),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const fields = fc.dictionary(field, value, { maxKeys: 6, noNullPrototype: true });
  // What would start processes or wait is another test's business.
  const quiet = (record: Record<string, unknown>) => {
    const { waitMs: _wait, ...rest } = record;
    return "command" in rest && "dir" in rest && "type" in rest ? { ...rest, cols: "x" } : rest;
  };
  const request = fc.record({
    route: fc.constantFrom(...ROUTES.filter(({ path }) => !path.endsWith("/kill"))),
    id,
    query: fields,
    body: fc.oneof(
      fields.map((record) => JSON.stringify(quiet(record))),
      text,
      fc.constant("{"),
    ),
    method: fc.option(fc.constantFrom("DELETE", "PATCH", "OPTIONS", "PUT")),
    contentType: fc.constantFrom("application/json", "text/plain", "application/json; charset=utf-16"),
  });
  const send = async (sample: (typeof samples)[number]) => {
    const query = new URLSearchParams(
      Object.entries(quiet(sample.query)).map(([name, entry]) => [
        name,
        typeof entry === "string" ? entry : JSON.stringify(entry),
      ]),
    );
    const method = sample.method ?? sample.route.method.toUpperCase();
    const path = sample.route.path.replace(":id", encodeURIComponent(Buffer.from(sample.id).toString()));
    const response = await fetch(`${url}${path}?${query}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": sample.contentType },
      ...(method === "GET" ? {} : { body: sample.body }),
      signal: AbortSignal.timeout(10_000),
    });
    const isEndless = response.headers.get("content-type")?.startsWith("text/event-stream");
    await (isEndless ? response.body?.cancel() : response.arrayBuffer());
    if (response.status >= 500) throw new Error(`${response.status} for ${JSON.stringify(sample)}`);
    return response.status;
  };
  const samples = fc.sample(request, { numRuns: REQUESTS, seed: 20_261_121 });
  const statuses = new Map<number, number>();
  for (let start = 0; start < samples.length; start += 50) {
    for (const status of await Promise.all(samples.slice(start, start + 50).map(send))) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  }
  expect([...statuses.values()].reduce((sum, n) => sum + n, 0)).toBe(REQUESTS);
  // The requests reach further than the first check: some are answered well, some refused for each reason.
  expect([...statuses.keys()].sort()).toEqual(expect.arrayContaining([200, 400, 404]));
  await client.sendInput("fuzzed", { text: "still alive" });
  await untilOutput(client, "fuzzed", "still alive");
}, 120_000);
