import { connect } from "node:net";
import { text as readText } from "node:stream/consumers";
import request from "supertest";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SidecarClient } from "../../shared/client.ts";
import { ROUTES as API } from "../../shared/protocol/routes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal, untilEnded, untilOutput } from "../support/threads.ts";

let sidecar: TestSidecar;

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 20 });
  await openTerminal(sidecar.client, "open", "echo hello; cat");
  await untilOutput(sidecar.client, "open", "hello");
});
afterAll(() => sidecar.close());

type Method = "get" | "post" | "put" | "delete";
const ROUTES: [Method, string][] = [
  ["post", "/thread/create"],
  ["post", "/thread/open/input"],
  ["get", "/thread/open/output"],
  ["post", "/threads/output"],
  ["get", "/thread/open/log"],
  ["put", "/thread/open/title"],
  ["put", "/thread/open/home"],
  ["put", "/thread/open/delivery"],
  ["put", "/thread/open/messages/page.1"],
  ["get", "/thread/open/messages"],
  ["get", "/threads/messages"],
  ["get", "/thread/open/transcript"],
  ["get", `/thread/open/blobs/${"0".repeat(64)}`],
  ["get", "/thread/open/steps"],
  ["post", "/thread/open/attachments?name=a"],
  ["get", "/thread/open/attachments"],
  ["get", "/thread/open/attachments/a"],
  ["delete", "/thread/open/attachments/a"],
  ["put", "/channel/1/messages/inbox.1"],
  ["get", "/channel/1/messages"],
  ["get", "/channel/1/main"],
  ["post", "/channel/1/main/hand-over"],
  ["get", "/inbox"],
  ["get", "/asks"],
  ["post", "/thread/open/asks/x"],
  ["post", "/thread/open/interrupt"],
  ["post", "/thread/open/kill"],
  ["get", "/threads"],
  ["get", "/thread/open"],
  ["get", "/repos"],
  ["get", "/nothing"],
];

// Promise: S2
describe("without the token", () => {
  let sidecar: TestSidecar;
  let skippedMs = 0;
  beforeAll(async () => {
    sidecar = await startSidecar({}, { now: () => Date.now() + skippedMs });
    await openTerminal(sidecar.client, "open", "cat");
  });
  afterAll(() => sidecar.close());
  /** So many in a minute slow nobody down. */
  const GUESSES = 15;
  // A minute of its own for each test: many wrong tokens within one slow down who sends them.
  beforeEach(() => {
    skippedMs += 60_000;
  });

  const WRONG: [string, (token: string) => string | undefined][] = [
    ["no header", () => undefined],
    ["an empty one", () => ""],
    ["another token", () => `Bearer ${"x".repeat(34)}`],
    ["the token's beginning", (token) => `Bearer ${token.slice(0, -1)}`],
    ["the token and more", (token) => `Bearer ${token}x`],
    ["the token in other case", (token) => `Bearer ${token.toUpperCase()}`],
    ["the bare token", (token) => token],
    ["another scheme", (token) => `Basic ${token}`],
    ["a very long one", () => `Bearer ${"x".repeat(8_000)}`],
  ];

  test.each(WRONG)("%s: every route says 401, and nothing happens", async (_name, header) => {
    for (let at = 0; at < ROUTES.length; at += GUESSES) {
      skippedMs += 60_000;
      const replies = await Promise.all(
        ROUTES.slice(at, at + GUESSES).map(async ([method, path]) => {
          const call = request(sidecar.url)[method](path);
          const value = header(sidecar.token);
          return value === undefined ? call : call.set("authorization", value);
        }),
      );
      for (const reply of replies) {
        expect(reply.status).toBe(401);
        expect(reply.body).toEqual({
          error: "A valid token is needed: Authorization: Bearer <VM_TOKEN>.",
          code: "unauthorized",
        });
      }
    }
    expect((await sidecar.client.getThread("open")).status).toBe("running");
  });

  test("a body of 2 MiB is not even looked at", async () => {
    const reply = await request(sidecar.url)
      .post("/thread/create")
      .send({ text: "x".repeat(2_097_152) });
    expect(reply.status).toBe(401);
  });

  test("the client says so in the sidecar's words", async () => {
    const client = new SidecarClient({ url: sidecar.url, token: "wrong".repeat(8) });
    expect(await refusal(client.listThreads())).toMatchObject({ code: "unauthorized" });
  });

  test("health alone is for everybody", async () => {
    const reply = await request(sidecar.url).get("/healthz");
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({
      ok: true,
      version: "0.1.0",
      tmux: { up: true, downForSeconds: null },
    });
    expect(reply.body.tmux.version).toMatch(/^tmux \d/);
  });
});

// Promise: S37
describe("what can't be understood is answered in JSON", () => {
  const call = (method: Method, path: string) =>
    request(sidecar.url)[method](path).set("authorization", `Bearer ${sidecar.token}`);
  const json = "application/json";

  test.each([
    ["broken JSON", '{"threadId": ', json, 400, "The body is not valid JSON."],
    ["JSON that is no object", '"text"', json, 400, "The body is not valid JSON."],
    ["null", "null", json, 400, "The body is not valid JSON."],
    ["an array", "[]", json, 400, "expected object"],
    ["no body", undefined, json, 400, "threadId: "],
    ["a form", "threadId=x", "application/x-www-form-urlencoded", 400, "must be JSON, with content-type"],
    ["plain text", "{}", "text/plain", 400, "must be JSON, with content-type"],
    ["2 MiB", JSON.stringify({ command: "x".repeat(2_097_152) }), json, 413, "at most 1,048,576 bytes"],
    ["2 MiB of no JSON", "x".repeat(2_097_152), json, 413, "at most 1,048,576 bytes"],
    ["another charset", "{}", "application/json; charset=ebcdic", 400, "can't be read"],
  ])("%s", async (_name, body, type, status, sentence) => {
    const sent = call("post", "/thread/create").set("content-type", type);
    const reply = await (body === undefined ? sent : sent.send(body));
    expect([reply.status, reply.headers["content-type"]]).toEqual([status, expect.stringContaining(json)]);
    expect(reply.body).toEqual({
      error: expect.stringContaining(sentence),
      code: status === 413 ? "too_large" : "invalid_request",
    });
  });

  test("every wrong field is named at once", async () => {
    const agent = { modle: "x", limits: { usd: 2 } };
    const body = { threadId: "a b", type: "Shell", dir: "", cols: 1, extra: true, agent, __proto__: {} };
    const reply = await call("post", "/thread/create").send(body);
    expect(reply.status).toBe(400);
    for (const field of [
      "threadId: ",
      "type: ",
      "dir: ",
      "command: ",
      "cols: ",
      "extra: not a known",
      "agent.modle: not a known",
      "agent.limits.usd: not a known",
    ])
      expect(reply.body.error).toContain(field);
  });

  test.each(API.filter(({ path }) => path.includes(":id")))(
    "$method $path: what no thread is called is told as it was asked for",
    async ({ method, path }) => {
      const reply = await call(
        method,
        path.replace(":id", "a%20b").replace(":sha256", "0".repeat(64)).replace(/:\w+/, "x"),
      ).send();
      expect([reply.status, reply.body]).toEqual([
        404,
        { error: 'There is no thread "a b".', code: "not_found" },
      ]);
    },
  );

  test.each([
    [{}, "text: "],
    [{ text: 5 }, "text: "],
    [{ text: "x", key: "Up" }, "not a known field"],
    [{ text: "x", enter: "yes" }, "enter: "],
    [{ key: "Nonsense" }, "key: must be a tmux key name"],
    [{ text: "x", inputId: "" }, "inputId: "],
  ])("input %j is refused by name", async (body, sentence) => {
    const reply = await call("post", "/thread/open/input").send(body);
    expect([reply.status, reply.body.code]).toEqual([400, "invalid_request"]);
    expect(reply.body.error).toContain(sentence);
  });

  test.each([
    ["get", "/nothing", 404, "not_found"],
    ["post", "/threads", 404, "not_found"],
    ["delete", "/thread/open", 404, "not_found"],
    ["get", "/thread/nobody", 404, "not_found"],
    ["get", "/thread/nobody/output", 404, "not_found"],
    ["get", "/thread/nobody/log", 404, "not_found"],
    ["post", "/thread/nobody/kill", 404, "not_found"],
    ["get", "/thread/a.b", 404, "not_found"],
    ["get", `/thread/${"a".repeat(65)}/output`, 404, "not_found"],
    ["get", "/thread/..%2f..%2fetc%2fpasswd/log", 404, "not_found"],
    ["get", "/thread/%E0%A4%A", 400, "invalid_request"],
    ["get", "/threads?status=gone", 400, "invalid_request"],
    ["get", "/threads?what=1", 400, "invalid_request"],
  ] as const)("%s %s", async (method, path, status, code) => {
    const reply = await call(method, path);
    expect([reply.status, reply.body.code]).toEqual([status, code]);
    expect(reply.body.error).toMatch(/\.$/);
  });

  test.each([
    ["no HTTP", "hello\r\n\r\n", "400 Bad Request"],
    ["headers beyond all measure", `GET / HTTP/1.1\r\nx: ${"y".repeat(40_000)}\r\n\r\n`, "431 "],
  ])("%s", async (_name, bytes, status) => {
    const { hostname, port } = new URL(sidecar.url);
    const socket = connect(Number(port), hostname);
    socket.write(bytes);
    const reply = await readText(socket);
    expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status}`));
    expect(JSON.parse(reply.split("\r\n\r\n")[1] ?? "")).toMatchObject({ code: "invalid_request" });
  });
});

test("threads are listed by status, with everything that is known of them", async () => {
  const { client } = sidecar;
  await openTerminal(client, "over", "echo bye; exit 3", { cols: 100, rows: 30 });
  await untilEnded(client, "over");
  await openTerminal(client, "gone", "cat");
  await client.killThread("gone");
  const ids = async (status: "open" | "ended" | "all") =>
    (await client.listThreads({ status })).map((thread) => thread.threadId);
  expect(await ids("open")).toEqual(["open", "over"]);
  expect(await ids("ended")).toEqual(["gone"]);
  expect(await ids("all")).toEqual(["open", "over", "gone"]);
  const over = await client.getThread("over");
  expect(over).toEqual({
    threadId: "over",
    name: expect.stringMatching(/^terminal-\d+$/),
    root: "over",
    branchedFrom: null,
    spawnedBy: null,
    lifecycle: "active",
    tags: [],
    agent: null,
    directive: null,
    type: "terminal",
    dir: ".",
    command: "echo bye; exit 3",
    title: "echo bye; exit 3",
    status: "exited",
    createdBy: "owner",
    createdAt: expect.stringMatching(/Z$/),
    endedAt: expect.stringMatching(/Z$/),
    processRunning: false,
    exitCode: 3,
    signal: null,
    offset: 5,
    logBytes: 4096,
    cols: 100,
    rows: 30,
    heldSmallUntil: null,
    budget: null,
    origin: null,
    home: null,
    parentId: null,
    waiting: 0,
    number: null,
    awaiting: null,
    problem: null,
    doing: null,
    turn: null,
    engine: null,
    follows: null,
    output: null,
    holds: null,
    activeAt: null,
    delivery: null,
  });
  expect(Date.parse(over.endedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(over.createdAt));
  // The list leaves out what it would take a look at each thread to say.
  const { agent, branchedFrom, lifecycle, root, spawnedBy, tags, ...listed } = over;
  expect((await client.listThreads()).find((thread) => thread.threadId === "over")).toEqual(listed);
});

test("the output of many threads comes in one reply, unknown ones are left out", async () => {
  const { client } = sidecar;
  await openTerminal(client, "many", "echo other; cat");
  await untilOutput(client, "many", "other");
  const threads = await client.readOutputs({ since: { open: 0, many: 2, nobody: 5 }, limit: 4 });
  expect(Object.keys(threads).sort()).toEqual(["many", "open"]);
  expect(threads["open"]).toMatchObject({ output: "hell", offset: 4, more: true });
  expect(threads["many"]).toMatchObject({ output: "her\r", offset: 6, more: true });
  expect(await client.readOutputs({ since: {} })).toEqual({});
});
