/** An agent's transcript by HTTP: from any byte, with patience, and the long texts that lines were cut of. */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BlobReply, blobReplySchema, transcriptReplySchema } from "../../shared/agent/api.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { openAgent, STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { awakeMs } from "../support/measure.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  await openAgent(sidecar, "talk", script("Hello", { text: "Hello to you, 日本." }));
  await untilStatus(sidecar, "talk", "idle");
});
afterAll(() => sidecar?.close());

const folder = () => join(sidecar.stateDir, "threads", "talk");

async function get(path: string): Promise<{ status: number; body: unknown }> {
  const reply = await fetch(`${sidecar.url}${path}`, {
    headers: { authorization: `Bearer ${sidecar.token}` },
  });
  return { status: reply.status, body: await reply.json() };
}

async function read(query: string) {
  const { body } = await get(`/thread/talk/transcript?${query}`);
  return transcriptReplySchema.parse(body);
}

test("from any byte come the rest of that line and whole lines, and where it all ends", async () => {
  const whole = await read("limit=1048576");
  expect(whole).toMatchObject({ start: 0, offset: whole.end, more: false });
  const bytes = Buffer.from(whole.lines);
  for (const since of [1, 77, bytes.indexOf("日本") + 1, whole.end - 5, whole.end]) {
    const part = await read(`since=${since}`);
    const isAtStart = bytes[since - 1] === 0x0a;
    const lines = isAtStart ? part.lines : part.lines.slice(part.lines.indexOf("\n") + 1);
    expect(whole.lines.endsWith(lines)).toBe(true);
    expect(part.offset).toBe(whole.end);
  }
  expect(await get(`/thread/talk/transcript?since=${whole.end + 1}`)).toMatchObject({ status: 416 });
});

test("with nothing new it waits, and answers the moment something is", async () => {
  let { end, live } = await read("limit=1048576");
  const wait = () => read(`since=${end}&status=idle&live=${live?.updatedAt ?? "none"}&waitMs=20000`);
  const waits = wait();
  await sidecar.client.sendInput("talk", { text: script("More", { text: "More." }) });
  let news = await waits;
  // The runner may have written its last moment after all.
  for (let n = 0; n < 3 && news.lines === "" && news.status === "idle"; n++) {
    live = news.live;
    news = await wait();
  }
  expect(news.lines !== "" || news.status === "running").toBe(true);
  await untilStatus(sidecar, "talk", "idle");
  const ms = await awakeMs(async () => {
    const after = await read(`since=${end}&status=running&waitMs=20000`);
    expect(after.lines).toContain("More.");
  });
  expect(ms).toBeLessThan(10_000);
});

test("another status is news, and so is another moment", async () => {
  const { end } = await read("limit=1048576");
  expect(await read(`since=${end}&status=running&waitMs=20000`)).toMatchObject({ lines: "", status: "idle" });
  const updatedAt = new Date().toISOString();
  const writeAndRead = () => {
    writeFileSync(threadPath(folder(), "live"), JSON.stringify({ v: 1, seq: 1, updatedAt }));
    return read(`since=${end}&status=idle&live=none&waitMs=20000`);
  };
  // The runner may write its own last moment in between.
  await untilValue("the moment", writeAndRead, ({ live }) => live?.updatedAt === updatedAt);
});

test("a blob is read in parts of whole characters; a name that is none is refused", async () => {
  const sha256 = "ab".repeat(32);
  const text = "日本 🚀 ".repeat(100);
  mkdirSync(threadPath(folder(), "blobs"), { recursive: true });
  appendFileSync(join(threadPath(folder(), "blobs"), sha256), text);
  for (const limit of [1, 7, 64, 1_000_000]) {
    let all = "";
    let since = 0;
    let reply: BlobReply;
    do {
      reply = blobReplySchema.parse(
        (await get(`/thread/talk/blobs/${sha256}?since=${since}&limit=${limit}`)).body,
      );
      expect(reply.offset).toBeGreaterThan(since);
      all += reply.text;
      since = reply.offset;
    } while (limit > 3 && reply.offset < reply.end);
    if (limit > 3) expect(all).toBe(text);
  }
  expect(await get(`/thread/talk/blobs/${"cd".repeat(32)}`)).toMatchObject({ status: 404 });
  for (const name of ["..%2f..%2ftoken", "AB".repeat(32), "short"]) {
    expect(await get(`/thread/talk/blobs/${name}`)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("sha256") },
    });
  }
});
