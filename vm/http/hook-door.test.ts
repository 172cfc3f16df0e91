import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import Sqlite from "better-sqlite3";
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type HookSettings, hookSettingsSchema } from "../../shared/hooks/settings.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { type Hook, Intake } from "../hooks/intake.ts";
import { signRequest } from "../hooks/proof.ts";
import type { NewHookRequest } from "../store/hook-requests.ts";
import { openStore, type Store } from "../store/store.ts";
import { createHookDoor } from "./hook-door.ts";
import { RefusalLog } from "./refusal-log.ts";
import { createHttpServer } from "./server.ts";

const SECRET = "a-secret-that-nobody-knows";
const NOW = Date.parse("2026-06-01T10:00:00Z");

let url: string;
let port: number;
let store: Store;
let database: string;
let now = NOW;
let hooks: Map<string, Hook>;
let logged: string[] = [];
let groups: number[] = [];
const taken: string[] = [];
const closers: (() => void)[] = [];

beforeAll(async () => {
  const folder = makeFolder();
  database = join(folder.path, "hooks.db");
  store = openStore(database);
  const log = pino({ level: "debug" }, { write: (line: string) => void logged.push(line) });
  const refusalLog = new RefusalLog(log);
  const requests = store.hookRequests;
  const keep = requests.keep.bind(requests);
  requests.keep = (group: readonly NewHookRequest[]) => {
    groups.push(group.length);
    return keep(group);
  };
  const intake = new Intake({
    requests,
    now: () => now,
    maxWaitingBytes: 4 * 1024 * 1024,
    onTaken: (hook) => taken.push(hook),
  });
  const app = createHookDoor({
    findHook: (name) => hooks.get(name),
    findHeartbeat: () => undefined,
    intake,
    wrongTokens: { mayAnswer: async () => true },
    ...{ refusalLog, now: () => now, log },
  });
  const server = createHttpServer({ app, onWebSocket: (_request, socket) => socket.destroy() });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
  url = `http://127.0.0.1:${port}`;
  closers.push(
    () => server.closeAllConnections(),
    () => server.close(),
    () => refusalLog.close(),
    () => store.close(),
    folder.remove,
  );
});

afterAll(() => {
  for (const close of closers) close();
});

beforeEach(() => {
  now += 3_600_000;
  hooks = new Map();
  logged = [];
  groups = [];
  store.hookRequests.remove("deploy");
  taken.length = 0;
});

function add(
  name = "deploy",
  settings: Partial<Parameters<typeof hookSettingsSchema.parse>[0] & object> = {},
): Hook {
  const hook = {
    name,
    secret: SECRET,
    settings: hookSettingsSchema.parse({ proof: { preset: "github" }, ...settings }),
  };
  hooks.set(name, hook);
  return hook;
}

async function send(
  body: string | Buffer,
  {
    id = randomBytes(8).toString("hex"),
    name = "deploy",
    secret = SECRET,
    headers = {},
    at = now,
    preset,
  }: {
    id?: string;
    name?: string;
    secret?: string;
    headers?: Record<string, string>;
    at?: number;
    preset?: HookSettings["proof"];
  } = {},
) {
  const proof = preset ?? hooks.get(name)?.settings.proof ?? { preset: "github" };
  const bytes = Buffer.from(body);
  const signed = signRequest(proof, secret, bytes, { id, nowSeconds: Math.floor(at / 1000) });
  const response = await fetch(`${url}/hook/${name}`, {
    method: "POST",
    body: bytes,
    headers: { ...signed, ...headers },
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

test("202 once the row is in the database, for whoever opens it then", async () => {
  add();
  const sent = await send('{"a":1}', { id: "one" });
  expect([sent.status, sent.body]).toEqual([202, { id: "one", accepted: true }]);
  const other = new Sqlite(database, { readonly: true });
  expect(other.prepare("SELECT hook, delivery_id, body FROM hook_requests").all()).toEqual([
    { hook: "deploy", delivery_id: "one", body: Buffer.from('{"a":1}') },
  ]);
  other.close();
  expect(taken).toEqual(["deploy"]);
});

test("the same delivery again is answered as it was, and kept once", async () => {
  add("deploy", { perMinute: 2 });
  const answers = [];
  for (let index = 0; index < 3; index++) answers.push((await send("{}", { id: "one" })).body);
  expect(answers).toEqual(Array(3).fill({ id: "one", accepted: true }));
  expect(store.hookRequests.listWaiting("deploy", 10)).toHaveLength(1);
  // At once too.
  const both = await Promise.all([send("{}", { id: "two" }), send("{}", { id: "two" })]);
  expect(both.map(({ status }) => status)).toEqual([202, 202]);
  expect(store.hookRequests.listWaiting("deploy", 10)).toHaveLength(2);
});

test("a name that no hook has and a wrong secret look alike, before any other word of the request counts", async () => {
  add("deploy", { filter: [{ path: "/a", exists: true }] });
  const seen = [];
  for (const [name, secret] of [
    ["deploy", "another-secret-altogether"],
    ["nothing", SECRET],
    ["%2e.x", SECRET],
    ["x".repeat(2_000), SECRET],
    ["__proto__", SECRET],
  ] as const) {
    const { status, body, headers } = await send("no json", { name, secret });
    const fixed = [...headers].filter(([header]) => !/^(date|x-request-id)$/.test(header));
    seen.push(JSON.stringify([status, body, fixed]));
  }
  expect(new Set(seen).size, seen.join("\n")).toBe(1);
  expect(seen[0]).toMatch(/^\[404,/);
});

test("a browser is told what this is, whatever the name; everything else is not there", async () => {
  add();
  const ask = async (path: string, method = "GET") => {
    const response = await fetch(url + path, { method });
    return [response.status, await response.text()];
  };
  const [status, text] = await ask("/hook/deploy");
  expect([status, text]).toEqual([200, expect.stringContaining("a hook of threadmux")]);
  expect(await ask("/hook/nothing")).toEqual([status, text]);
  expect((await ask("/hook/deploy", "DELETE"))[0]).toBe(405);
  for (const path of ["/", "/healthz", "/threads", "/hook", "/hook/a/b", "/console", "//hook/deploy"])
    expect((await ask(path))[0], path).toBe(404);
});

test("a body beyond a megabyte is refused, inflated ones by what they inflate to", async () => {
  add();
  expect((await send("x".repeat(1024 * 1024 + 1))).status).toBe(413);
  const bomb = gzipSync("x".repeat(20_000_000));
  expect((await send(bomb, { headers: { "content-encoding": "gzip" } })).status).toBe(413);
  expect((await send("{}", { headers: { "content-encoding": "zstd" } })).status).toBe(400);
  expect((await send("x".repeat(1024 * 1024))).status).toBe(202);
});

test("a right signature of another time is told so, with the header", async () => {
  add("deploy", { proof: { preset: "stripe" } });
  const { status, body } = await send('{"id":"evt_1"}', { at: now - 301_000 });
  expect([status, body.error]).toEqual([400, expect.stringMatching(/^stripe-signature: its time/)]);
  expect((await send('{"id":"evt_1"}', { at: now - 299_000 })).status).toBe(202);
});

test("more than 30 a minute wait; other hooks don't, and another minute doesn't", async () => {
  add();
  add("other");
  const statuses = await Promise.all(Array.from({ length: 32 }, async () => (await send("{}")).status));
  expect(statuses.sort()).toEqual([...Array(30).fill(202), 429, 429]);
  const late = await send("{}");
  expect([late.status, late.headers.get("retry-after"), late.body.code]).toEqual([429, "60", "rate_limited"]);
  expect((await send("{}", { name: "other" })).status).toBe(202);
  now += 60_000;
  expect((await send("{}")).status).toBe(202);
});

test("a request that does not count is answered, and its body is not kept", async () => {
  add("deploy", { filter: [{ path: "/action", equals: "opened" }] });
  expect((await send('{"action":"closed"}', { id: "one" })).body).toEqual({ id: "one", accepted: false });
  expect((await send('{"action":"opened"}', { id: "two" })).body).toEqual({ id: "two", accepted: true });
  expect(store.hookRequests.listWaiting("deploy", 10).map(({ deliveryId }) => deliveryId)).toEqual(["two"]);
  const noJson = await send("action=opened", { id: "three" });
  expect([noJson.status, noJson.body.error]).toEqual([
    400,
    expect.stringMatching(/^filter: it looks at \/action/),
  ]);
});

test("a template's field that is not there is refused by its name, and may be sent again", async () => {
  add("deploy", { template: "push to {/ref}" });
  const { status, body } = await send("{}", { id: "one" });
  expect([status, body.error]).toEqual([400, "template: the body has nothing at /ref."]);
  expect((await send('{"ref":"main"}', { id: "one" })).status).toBe(202);
});

test("what comes together waits for the disk together", async () => {
  for (let index = 0; index < 40; index++) add(`hook-${index}`);
  const statuses = await Promise.all(
    [...hooks.keys()].map(async (name) => (await send("{}", { name })).status),
  );
  expect(statuses).toEqual(Array(40).fill(202));
  expect(groups.reduce((sum, count) => sum + count)).toBe(40);
  expect(groups.length).toBeLessThan(40);
});

test("503 while the disk does not take it, and no row; then it is taken", async () => {
  add();
  const other = new Sqlite(database);
  other.exec("BEGIN IMMEDIATE");
  const { status, headers } = await send("{}", { id: "one" });
  expect([status, headers.get("retry-after")]).toEqual([503, "60"]);
  other.exec("ROLLBACK");
  other.close();
  expect(store.hookRequests.find("deploy", "one", now)).toBeUndefined();
  expect((await send("{}", { id: "one" })).status).toBe(202);
});

test("503 once too much waits, until it is passed on", async () => {
  add();
  const big = "x".repeat(1024 * 1024);
  const ids = ["1", "2", "3", "4"];
  const before = store.hookRequests.waitingBytes();
  for (const hook of store.hookRequests.listHooks()) store.hookRequests.remove(hook);
  expect(before).toBeGreaterThan(0);
  for (const id of ids) expect((await send(big, { id })).status).toBe(202);
  expect((await send("x", { id: "5" })).status).toBe(503);
  expect((await send(big, { id: "4" })).status).toBe(202);
  store.hookRequests.passOn("deploy", ids);
  expect((await send("x", { id: "5" })).status).toBe(202);
});

test("whatever is sent is answered with no 500, and nothing of it is in the log", async () => {
  add("deploy", {
    perMinute: 1_000,
    template: "{/a}",
    coalesce: { key: "/k", windowSeconds: 1, maxWaitSeconds: 1 },
  });
  const words = [
    "SECRETWORD",
    "[1",
    '{"a":',
    '{"a":1}',
    '{"__proto__":{"a":1}}',
    "\u0000",
    "}",
    '"',
    "%",
    "\r\n",
    "é",
  ];
  const piece = fc.oneof(fc.constantFrom(...words), fc.string({ unit: "binary", maxLength: 10 }));
  const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
  const names = [
    "x-github-delivery",
    "x-hub-signature-256",
    "content-encoding",
    "content-type",
    "content-length",
  ];
  const oneLine = (value: string) => value.replace(/[\r\n]/g, " ");
  const request = fc.record({
    method: fc.constantFrom("POST", "POST", "POST", "GET", "PUT", "X"),
    path: fc.oneof(
      fc.constant("/hook/deploy"),
      text.map((one) => `/hook/${encodeURI(Buffer.from(one).toString())}`),
    ),
    isSigned: fc.boolean(),
    headers: fc.array(fc.tuple(fc.constantFrom(...names), fc.oneof(text, fc.constant("gzip"))), {
      maxLength: 3,
    }),
    body: text,
  });
  const requests = fc.sample(request, 600);
  const rawOf = ({ method, path, isSigned, headers, body }: (typeof requests)[number]) => {
    const bytes = Buffer.from(body);
    const proof = { preset: "github" } as const;
    const signed = isSigned
      ? signRequest(proof, SECRET, bytes, { id: randomBytes(4).toString("hex"), nowSeconds: 0 })
      : {};
    const lines = [...Object.entries(signed), ...headers].map(
      ([name, value]) => `${name}: ${oneLine(value)}`,
    );
    const length = `content-length: ${bytes.length}`;
    const head = [`${method} ${path} HTTP/1.1`, "host: h", "connection: close", ...lines, length].join(
      "\r\n",
    );
    return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes]);
  };
  const statuses: number[] = [];
  const ask = async (raw: Buffer) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.end(raw);
    const reply = await readText(socket).catch(() => "");
    statuses.push(Number(/^HTTP\/1\.1 (\d+)/.exec(reply)?.[1] ?? 0));
  };
  const queue = requests.map(rawOf);
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      for (let raw = queue.pop(); raw; raw = queue.pop()) await ask(raw);
    }),
  );
  expect(statuses.filter((status) => status >= 500 && status !== 503)).toEqual([]);
  expect(new Set(statuses).size, "several ways were taken").toBeGreaterThan(4);
  expect(logged.join("")).not.toMatch(/SECRETWORD|a-secret-that|deploy/);
  expect((await send('{"a":1}')).status).toBe(202);
});
