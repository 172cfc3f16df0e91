import { once } from "node:events";
import { appendFileSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { Writable } from "node:stream";
import { pino } from "pino";
import request from "supertest";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll, refusal, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
let errorLines = "";

beforeAll(async () => {
  const stream = new Writable({
    write(chunk, _encoding, done) {
      errorLines += chunk;
      done();
    },
  });
  sidecar = await startSidecar({ maxThreads: 100 }, { log: pino({ level: "error" }, stream) });
});
afterAll(() => sidecar.close());

/** A thread that has printed exactly these bytes and ended. */
async function printed(threadId: string, bytes: Buffer | string): Promise<Buffer> {
  const buffer = Buffer.from(bytes as string);
  writeFileSync(join(sidecar.reposDir, threadId), buffer);
  await openTerminal(sidecar.client, threadId, `stty -opost; cat ${threadId}`);
  await untilEnded(sidecar.client, threadId);
  return buffer;
}

describe("paging", () => {
  const TEXT = "aé€😀\u0301日z👩‍👧\r\nü";

  test.each([1, 2, 3, 4, 5, 6, 7, 8])("with limit %i gives whole characters and every one", async (limit) => {
    const threadId = `limit-${limit}`;
    const bytes = await printed(threadId, TEXT);
    const pages: string[] = [];
    let since = 0;
    for (;;) {
      const page = await sidecar.client.readOutput(threadId, { since, limit });
      expect(page.offset).toBe(since + Buffer.byteLength(page.output));
      expect(page.output).not.toContain("\ufffd");
      const isOneCharacter = [...page.output].length === 1;
      expect(Buffer.byteLength(page.output) <= limit || isOneCharacter).toBe(true);
      expect(page.more).toBe(page.offset < bytes.length);
      pages.push(page.output);
      since = page.offset;
      if (!page.more) break;
    }
    expect(pages.join("")).toBe(TEXT);
  });

  test("from every byte", async () => {
    const bytes = await printed("from-every-byte", TEXT);
    for (let since = 0; since <= bytes.length; since++) {
      const { output, offset } = await sidecar.client.readOutput("from-every-byte", { since });
      expect(offset).toBe(bytes.length);
      expect(output).toBe(bytes.toString("utf8", since));
    }
  });

  test("of bytes that are no UTF-8 reads the same in any pieces", async () => {
    const bytes = await printed(
      "no-utf8",
      Buffer.from("a\xff\xc0\xaf\xe2\x82b\xf0\x9f\x98\x80\xed\xa0\x80\xf0\x9f", "latin1"),
    );
    const whole = (await readAll(sidecar.client, "no-utf8")).output;
    expect(whole).toBe(bytes.toString("utf8"));
    for (const limit of [1, 2, 3, 4, 5]) {
      let text = "";
      for (let since = 0; since < bytes.length; ) {
        const page = await sidecar.client.readOutput("no-utf8", { since, limit });
        text += page.output;
        expect(page.offset).toBeGreaterThan(since);
        since = page.offset;
      }
      expect(text).toBe(whole);
    }
  });

  test("leaves half a character for later while the process runs, without saying that there is more", async () => {
    const { client, reposDir } = sidecar;
    writeFileSync(join(reposDir, "head"), Buffer.from([0x61, 0xf0, 0x9f, 0x98]));
    writeFileSync(join(reposDir, "tail"), Buffer.from([0x80, 0x62]));
    await openTerminal(client, "half", "stty -echo; cat head; read line; cat tail");
    await until("the first bytes", async () => (await client.getThread("half")).offset === 4);
    const first = await client.readOutput("half");
    expect(first).toMatchObject({ output: "a", offset: 1, more: false, processRunning: true });
    expect(await client.readOutput("half", { since: 1 })).toMatchObject({
      output: "",
      offset: 1,
      more: false,
    });
    await client.sendInput("half", { text: "" });
    await untilEnded(client, "half");
    expect((await client.readOutput("half", { since: 1 })).output).toBe("😀b");
  });

  test("a half character at the very end comes when the process has ended", async () => {
    await printed("cut", Buffer.from([0x61, 0xe2, 0x82]));
    expect(await sidecar.client.readOutput("cut")).toMatchObject({
      output: "a\ufffd",
      offset: 3,
      more: false,
    });
  });

  test("beyond the end is refused, at the end is empty", async () => {
    await printed("short", "12345");
    expect(await sidecar.client.readOutput("short", { since: 5 })).toMatchObject({ output: "", offset: 5 });
    expect(await refusal(sidecar.client.readOutput("short", { since: 6 }))).toEqual({
      code: "range",
      message: "since: 6 lies beyond the log's end at 5.",
    });
  });

  test.each([
    "since=-1",
    "since=x",
    "since=1.5",
    "since=1e400",
    "since=1e0",
    "since=",
    "since=%200",
    "since=0x0",
    "since=+0",
    "since=0&since=0",
    "waitMs=",
    "limit=0",
    "limit=1048577",
    "limit=abc",
    "sinc=1",
  ])("?%s is refused by name", async (query) => {
    await openTerminal(sidecar.client, "queries", "true").catch(() => undefined); // there already
    const reply = await request(sidecar.url)
      .get(`/thread/queries/output?${query}`)
      .set("authorization", `Bearer ${sidecar.token}`);
    expect([reply.status, reply.body.code]).toEqual([400, "invalid_request"]);
    expect(reply.body.error).toContain(query.split("=")[0]);
  });
});

test("output comes while the process runs, every reply with the same offsets", async () => {
  const { client } = sidecar;
  await openTerminal(client, "live", "echo one; cat");
  await untilOutput(client, "live", "one\r\n");
  const first = await client.readOutput("live");
  expect(first).toMatchObject({
    output: "one\r\n",
    offset: 5,
    status: "running",
    cols: 80,
    rows: 24,
    processRunning: true,
    exitCode: null,
    signal: null,
    firstOffset: 0,
    more: false,
  });
  await client.sendInput("live", { text: "two" });
  await untilOutput(client, "live", "two\r\ntwo\r\n");
  expect((await client.readOutput("live", { since: 5 })).output).toBe("two\r\ntwo\r\n");
  expect((await client.readOutput("live", { limit: 5 })).output).toBe("one\r\n");
});

describe("the log as a download", () => {
  const download = (threadId: string) =>
    request(sidecar.url)
      .get(`/thread/${threadId}/log`)
      .set("authorization", `Bearer ${sidecar.token}`)
      .buffer(true)
      .parse((res, done) => {
        const chunks: Buffer[] = [];
        res.on("data", (chunk: Buffer) => chunks.push(chunk));
        res.on("end", () => done(null, Buffer.concat(chunks)));
      });

  test("is byte for byte what was printed", async () => {
    const bytes = await printed(
      "bytes",
      Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7 + (i >> 8)) & 255)),
    );
    const reply = await download("bytes");
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": 'attachment; filename="bytes.log"',
      "content-length": "100000",
    });
    expect(bytes.equals(reply.body)).toBe(true);
  });

  test("of a thread that printed nothing is empty; of no thread is 404", async () => {
    await printed("nothing", "");
    expect((await download("nothing")).headers["content-length"]).toBe("0");
    expect((await download("nobody")).status).toBe(404);
  });

  test("of a killed thread is still there", async () => {
    await openTerminal(sidecar.client, "kept", "echo kept; cat");
    await untilOutput(sidecar.client, "kept", "kept");
    await sidecar.client.killThread("kept");
    expect((await download("kept")).body.toString()).toMatch(/^kept\r\n/);
  });

  test("that is broken off leaves no file open and is no error of ours", async () => {
    const { stateDir, url, token } = sidecar;
    await printed("aborted", "");
    const file = join(stateDir, "logs/aborted.log");
    appendFileSync(file, Buffer.alloc(30_000_000, "x\n"));
    for (let i = 0; i < 5; i++) {
      const req = httpRequest(`${url}/thread/aborted/log`, { headers: { authorization: `Bearer ${token}` } });
      req.end();
      const [res] = await once(req, "response");
      await once(res, "data");
      req.destroy();
    }
    const openLogs = () =>
      readdirSync("/proc/self/fd").filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`) === file;
        } catch {
          return false; // the descriptor of this very listing
        }
      });
    await until("the log to be closed", () => openLogs().length === 0);
    expect(errorLines).toBe("");
  });
});

test("a log file that somebody deleted reads as empty", async () => {
  const { client, stateDir } = sidecar;
  await printed("deleted", "something");
  expect(readFileSync(join(stateDir, "logs/deleted.log"), "utf8")).toBe("something");
  rmSync(join(stateDir, "logs/deleted.log"));
  expect(await client.readOutput("deleted")).toMatchObject({ output: "", offset: 0, more: false });
  expect(await client.getThread("deleted")).toMatchObject({ offset: 0, logBytes: 0 });
  expect(await client.killThread("deleted")).toMatchObject({ killed: true });
});
