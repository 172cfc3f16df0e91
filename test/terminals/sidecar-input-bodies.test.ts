/** A body in its usual form has a quick reader, any other one Express' parser. Nobody can tell which one read it. */
import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { Writable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inFull } from "../support/faults.ts";
import { aDiscordId } from "../support/ids.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
let agent: Agent;
const lines: string[] = [];

beforeAll(async () => {
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  agent = new Agent({ keepAlive: true });
  sidecar = await startSidecar({ maxThreads: 20 }, { log: pino({ level: "debug" }, stream) });
  await openTerminal(sidecar.client, "open", "stty raw -echo; echo ready; cat > /dev/null");
  await untilOutput(sidecar.client, "open", "ready");
  await openTerminal(sidecar.client, "over", "cat");
  await sidecar.client.killThread("over");
});
afterAll(async () => {
  agent.destroy();
  await sidecar.close();
});

const USUAL = "application/json";
/** Means the same, and is not what clients send. */
const UNUSUAL = "application/json; charset=utf-8";

interface Sent {
  body: string | Buffer;
  headers?: Record<string, string>;
  method?: string;
  threadId?: string;
}

async function send(type: string, { body, headers = {}, method = "POST", threadId = "open" }: Sent) {
  return new Promise<object>((resolve, reject) => {
    const request = httpRequest(`${sidecar.url}/thread/${threadId}/input`, {
      agent,
      method,
      headers: {
        authorization: `Bearer ${sidecar.token}`,
        "content-type": type,
        ...headers,
      },
    });
    request.on("error", reject);
    request.on("response", async (response) => {
      const { "x-request-id": requestId, date: _date, ...rest } = response.headers;
      const answer = { status: response.statusCode, headers: rest, body: await readText(response) };
      const isLine = (line: string) => line.includes(`"${requestId}"`);
      await until("the request's line in the log", () => lines.some(isLine));
      const { requestId: _id, time: _time, ms: _ms, ...line } = JSON.parse(lines.find(isLine) ?? "{}");
      resolve({ ...answer, line });
    });
    request.end(body);
  });
}

const json = JSON.stringify;
const CASES: [string, Sent, number][] = [
  ["a text", { body: json({ text: "x", enter: false }) }, 200],
  ["a key", { body: json({ key: "Up" }) }, 200],
  ["an id", { body: json({ text: "", inputId: "same" }) }, 200],
  ["spaces around it", { body: ` \n\t\r${json({ text: "ä€😀" })} \n` }, 200],
  ["a byte order mark", { body: `\uFEFF${json({ text: "x" })}` }, 200],
  ["a name twice", { body: '{"text":1,"text":"x"}' }, 200],
  ["bytes that are no UTF-8", { body: Buffer.from('{"text":"\xff\xc3"}', "latin1") }, 200],
  [
    "a charset",
    { body: json({ text: "x" }), headers: { "content-type": "application/json; charset=utf-8" } },
    200,
  ],
  ["gzip", { body: gzipSync(json({ text: "x" })), headers: { "content-encoding": "gzip" } }, 200],
  ["chunks", { body: json({ text: "x" }), headers: { "transfer-encoding": "chunked" } }, 200],
  ["nothing", { body: "" }, 400],
  ["only spaces", { body: "   " }, 400],
  ["broken JSON", { body: '{"text": ' }, 400],
  ["two values", { body: "{}{}" }, 400],
  ["no text", { body: "{}" }, 400],
  ["a wrong text", { body: json({ text: 5 }) }, 400],
  ["an unknown field", { body: json({ text: "x", more: 1 }) }, 400],
  ["__proto__", { body: '{"text":"x","__proto__":{"enter":false}}' }, 400],
  ["a string", { body: '"text"' }, 400],
  ["null", { body: "null" }, 400],
  ["an array", { body: "[]" }, 400],
  ["no JSON at all", { body: Buffer.from([0, 1, 2, 255]) }, 400],
  ["very deep", { body: `{"text":${"[".repeat(100_000)}` }, 400],
  ["a form", { body: "text=x", headers: { "content-type": "application/x-www-form-urlencoded" } }, 400],
  ["bytes", { body: json({ text: "x" }), headers: { "content-type": "application/octet-stream" } }, 400],
  ["broken gzip", { body: "{}", headers: { "content-encoding": "gzip" } }, 400],
  ["another charset", { body: "{}", headers: { "content-type": "application/json; charset=ebcdic" } }, 400],
  [
    "all that is allowed",
    { body: json({ text: "x".repeat(1024 * 1024 - 40), enter: false }).padEnd(1024 * 1024) },
    200,
  ],
  ["a byte more", { body: json({ text: "x" }).padEnd(1024 * 1024 + 1) }, 413],
  ["a thread that is over", { body: json({ text: "x" }), threadId: "over" }, 410],
  ["no such thread", { body: json({ text: "x" }), threadId: "nobody" }, 404],
  ["no such Discord thread", { body: json({ text: "x" }), threadId: "123456789" }, 404],
  ["a name that every object has", { body: json({ text: "x" }), threadId: "constructor" }, 400],
  ["a name that is none", { body: json({ text: "x" }), threadId: "a.b" }, 404],
  ["a name that is too long", { body: json({ text: "x" }), threadId: "a".repeat(65) }, 404],
  ["a name in escapes", { body: json({ text: "x" }), threadId: "%6fpen" }, 200],
  ["another method", { body: json({ text: "x" }), method: "PUT" }, 404],
];

// Promise: S37
test.each(CASES)(
  "%s: the same answer and the same line in the log from both readers",
  async (_name, sent, status) => {
    // The first of two with an id is another one than the second.
    if (String(sent.body).includes("inputId")) await send(USUAL, sent);
    const quick = await send(USUAL, sent);
    expect(quick).toMatchObject({ status, line: { status } });
    expect(quick).toEqual(await send(UNUSUAL, sent));
  },
);

test("without the right token too, and it is counted", async () => {
  const wrong = async () => {
    const { authorization } = { authorization: `Bearer ${sidecar.token}` };
    const metrics = await (await fetch(`${sidecar.url}/metrics`, { headers: { authorization } })).text();
    return Number(/^threadmux_wrong_tokens_total (.*)$/m.exec(metrics)?.[1]);
  };
  const before = await wrong();
  for (const authorization of ["", "Bearer ", `bearer ${sidecar.token}`, `Session ${"x".repeat(43)}`]) {
    for (const type of [USUAL, UNUSUAL]) {
      const reply = await fetch(`${sidecar.url}/thread/open/input`, {
        method: "POST",
        headers: { authorization, "content-type": type },
        body: json({ text: "x" }),
      });
      expect([reply.status, (await reply.json()).code]).toEqual([401, "unauthorized"]);
    }
  }
  expect(await wrong()).toBe(before + 8);
});

// Promise: S37
test("any body has the same answer from both readers", async () => {
  const field = fc.constantFrom(
    "text",
    "enter",
    "inputId",
    "key",
    "source",
    "when",
    "attachments",
    "__proto__",
  );
  const value = fc.oneof(
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.boolean(),
    fc.integer(),
    fc.constantFrom("C-c", "now", null),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const body = fc.oneof(
    { weight: 4, arbitrary: fc.dictionary(field, value, { maxKeys: 4, noNullPrototype: true }).map(json) },
    { weight: 1, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 40 }) },
    { weight: 1, arbitrary: fc.json() },
  );
  await fc.assert(
    fc.asyncProperty(body, async (body) => {
      await send(USUAL, { body }); // from now on its id, if it has one, is known
      expect(await send(USUAL, { body })).toEqual(await send(UNUSUAL, { body }));
    }),
    { numRuns: inFull(300, 80), seed: 20_261_124 },
  );
});

test("a Discord thread's id leads to its thread", async () => {
  const { client } = sidecar;
  await openTerminal(client, "homed", "cat", { home: "discord" });
  await client.putHome("homed", { channelId: aDiscordId("900000000000000001") });
  for (const type of [USUAL, UNUSUAL]) {
    const reply = await send(type, { body: json({ text: type }), threadId: "900000000000000001" });
    expect(reply).toMatchObject({ status: 200, line: { threadId: "homed" } });
  }
  await untilOutput(client, "homed", `${UNUSUAL}\r\n`);
});

test("inputs of one connection go in in their order, whoever reads each", async () => {
  const { client, token, url } = sidecar;
  await openTerminal(client, "row", "stty raw -echo; echo ready; cat");
  await untilOutput(client, "row", "ready");
  const words = Array.from({ length: 300 }, (_, i) => `<${i}>`);
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const head = `host: ${hostname}\r\nauthorization: Bearer ${token}`;
  words.forEach((text, i) => {
    const body = json({ text, enter: false });
    const last = i === words.length - 1 ? "connection: close\r\n" : "";
    const type = i % 3 === 0 ? UNUSUAL : USUAL;
    const start = `POST /thread/row/input HTTP/1.1\r\n${head}\r\ncontent-type: ${type}\r\n${last}content-length: ${body.length}\r\n\r\n`;
    socket.write(start + body);
  });
  expect((await readText(socket)).match(/HTTP\/1\.1 200 OK/g)).toHaveLength(words.length);
  await untilOutput(client, "row", words.join(""));
});

test("bodies that break off, or never end, type nothing and keep nobody else waiting", async () => {
  const { client, token, url } = sidecar;
  const { hostname, port } = new URL(url);
  await openTerminal(client, "half", "cat");
  const start = (type: string) =>
    `POST /thread/half/input HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\ncontent-type: ${type}\r\ncontent-length: 24\r\n\r\n{"text":"half of it`;
  const sockets = Array.from({ length: 200 }, (_, i) => {
    const socket = connect(Number(port), hostname);
    socket.write(start(i % 2 === 0 ? USUAL : UNUSUAL));
    return socket;
  });
  await Promise.all(sockets.map((socket) => until("the bytes to leave", () => socket.bytesWritten > 100)));
  await client.sendInput("half", { text: "whole" });
  for (const socket of sockets) socket.destroy();
  const broken = () =>
    lines
      .map((line) => JSON.parse(line))
      .filter(({ threadId, isAborted }) => threadId === "half" && isAborted);
  const refused = () =>
    broken().filter(({ route, status }) => route === "/thread/:id/input" && status === 400);
  await until("all of them to be in the log", () => refused().length >= 200);
  await client.sendInput("half", { text: "after" });
  await untilOutput(client, "half", "after\r\n");
  const { output } = await client.readOutput("half");
  expect(output).toBe("whole\r\nwhole\r\nafter\r\nafter\r\n");
});
