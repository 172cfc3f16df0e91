/** Long polls, the screen, resizing, the log as text. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { awakeMs } from "../support/measure.ts";
import { spawnSidecar, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 50 });
});
afterAll(() => sidecar?.close());

test("a waiting read answers the moment there is output, not at its deadline", async () => {
  const { client } = sidecar;
  await openTerminal(client, "echoes", "cat");
  const waiting = client.readOutput("echoes", { waitMs: 20_000 });
  await client.sendInput("echoes", { text: "hello", enter: false });
  const ms = await awakeMs(async () => {
    expect((await waiting).output).toMatch(/^h(e(l(lo?)?)?)?$/); // the terminal may show it in pieces
  });
  expect(ms).toBeLessThan(15_000);
});

test("a waiting read answers when the process ends without a word", async () => {
  const { client } = sidecar;
  await openTerminal(client, "silent", "read x; exit 5");
  const { offset } = await client.readOutput("silent");
  const waiting = client.readOutput("silent", { since: offset, waitMs: 20_000, status: "running" });
  await client.sendInput("silent", { text: "" });
  let reply = await waiting;
  // The Enter's own echo may come first.
  while (reply.processRunning) {
    reply = await client.readOutput("silent", { since: reply.offset, waitMs: 20_000, status: "running" });
  }
  expect(reply).toMatchObject({ status: "exited", exitCode: 5 });
  // Nothing will ever come any more: no wait.
  const again = await client.readOutput("silent", { since: reply.offset, waitMs: 25_000 });
  expect(again.processRunning).toBe(false);
});

test("with nothing new it answers at its deadline, and a caller who leaves is forgotten", async () => {
  const { client, url, token } = sidecar;
  await openTerminal(client, "quiet", "cat");
  const reply = await client.readOutput("quiet", { waitMs: 100 });
  expect(reply).toMatchObject({ output: "", processRunning: true });
  const aborted = fetch(`${url}/thread/quiet/output?waitMs=25000`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(100),
  });
  await expect(aborted).rejects.toThrow();
  await client.sendInput("quiet", { text: "still fine" });
  await untilOutput(client, "quiet", "still fine");
});

test("many threads in one request: whichever has something answers for all", async () => {
  const { client } = sidecar;
  for (const id of ["a", "b", "c"]) await openTerminal(client, id, "cat");
  const since = { a: 0, b: 0, c: 0, nobody: 0 };
  // A thread that does not exist is no news that one could wait for, but the caller must hear of it.
  expect(Object.keys(await client.readOutputs({ since, waitMs: 20_000 })).sort()).toEqual(["a", "b", "c"]);
  const waiting = client.readOutputs({ since: { a: 0, b: 0, c: 0 }, waitMs: 20_000 });
  await client.sendInput("b", { text: "b", enter: false });
  const replies = await waiting;
  expect([replies["a"]?.output, replies["b"]?.output, replies["c"]?.output]).toEqual(["", "b", ""]);
  expect(await refusal(client.readOutputs({ since: { b: 0, a: 999 } }))).toMatchObject({
    code: "range",
    message: "since.a: 999 lies beyond the log's end at 0.",
  });
});

test("the screen: text, colours, cursor, title, full-screen programs", async () => {
  const { client } = sidecar;
  await openTerminal(
    client,
    "screen",
    "printf 'one\\n\\033[31mred\\033[0m\\033]2;a #(id) title\\007'; read x; printf '\\033[?1049hfull screen'; cat",
  );
  await untilOutput(client, "screen", "title\x07");
  const plain = await client.getScreen("screen");
  expect(plain).toMatchObject({
    cols: 80,
    rows: 24,
    cursor: { x: 3, y: 1 },
    alternate: false,
    title: expect.stringMatching(/^a [#_]\(id\) title$/), // 3.7 puts a `_` there itself
  });
  expect(plain.screen.trimEnd()).toBe("one\nred");
  expect((await client.getScreen("screen", { format: "ansi" })).screen).toContain("\u001b[31mred");
  expect(plain.links).toBeUndefined();
  await client.sendInput("screen", { text: "" });
  await until("the alternate screen", async () => (await client.getScreen("screen")).alternate);
  await until("its picture", async () => (await client.getScreen("screen")).screen.includes("full screen"));
  await client.killThread("screen");
  expect(await refusal(client.getScreen("screen"))).toMatchObject({ code: "thread_ended" });
});

test("the screen says where its links lead, wrapped ones too, but not of those that it does not show", async () => {
  const { client } = sidecar;
  const link = (text: string, address: string) => `\\033]8;;${address}\\033\\\\${text}\\033]8;;\\033\\\\`;
  const gone = link("erased", "https://gone.example");
  const told = link("https://told.example", "https://told.example");
  const wrapped = link("\\033[31mlo\\033[0mng".padEnd(100, "g"), "https://wrapped.example");
  await openTerminal(
    client,
    "links",
    `printf '${gone}\\r\\033[K${told}\\nsee ${link("docs", "https://a.example/x")}, ${wrapped}\\n'; exec cat`,
  );
  await untilOutput(client, "links", "wrapped.example");
  for (const format of ["text", "ansi"] as const) {
    await until("the links", async () => (await client.getScreen("links", { format })).links?.length === 2);
    expect((await client.getScreen("links", { format })).links).toEqual([
      { text: "docs", address: "https://a.example/x" },
      { text: expect.stringMatching(/^longg+$/), address: "https://wrapped.example" },
    ]);
  }
  expect((await client.killThread("links")).summary).toMatch(
    /^https:\/\/told.example\nsee docs, longg+ \(https:\/\/a.example\/x\) \(https:\/\/wrapped.example\)$/,
  );
});

test("resizing changes the terminal for the program, and is kept", async () => {
  const { client } = sidecar;
  await openTerminal(client, "size", "stty size; while read x; do stty size; done", { cols: 100, rows: 30 });
  await untilOutput(client, "size", "30 100");
  await client.resizeThread("size", { cols: 132, rows: 43 });
  // tmux before 3.3 tells the terminal up to 250 ms later.
  await until("the program to see its size", async () => {
    await client.sendInput("size", { text: "" });
    return (await client.readOutput("size")).output.includes("43 132");
  });
  expect(await client.getThread("size")).toMatchObject({ cols: 132, rows: 43 });
  expect(await client.readOutput("size")).toMatchObject({ cols: 132, rows: 43 });
  expect(await refusal(client.resizeThread("size", { cols: 1, rows: 43 }))).toMatchObject({
    code: "invalid_request",
  });
});

test("the log as text has no escape sequences, wherever they are cut", async () => {
  const { client, url, token } = sidecar;
  await openTerminal(
    client,
    "text",
    "for i in $(seq 20000); do printf '\\033[1;3%dmline %d\\033[0m\\033]0;t\\007\\n' $((i % 8)) $i; done",
  );
  await untilEnded(client, "text", 30_000);
  const response = await fetch(`${url}/thread/text/log?format=text`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  const expected = Array.from({ length: 20_000 }, (_, i) => `line ${i + 1}\n`).join("");
  expect((await response.text()) === expected).toBe(true);
});

test("an input with an id goes in once, also over a restart", async () => {
  const { client } = sidecar;
  await openTerminal(client, "once", "cat");
  expect(await client.sendInput("once", { text: "first", inputId: "m1" })).toEqual({ sent: true });
  await untilOutput(client, "once", "first\r\nfirst\r\n"); // cat may come late
  expect(await client.sendInput("once", { text: "first", inputId: "m1" })).toEqual({
    sent: true,
    duplicate: true,
  });
  await sidecar.restart();
  expect(await client.sendInput("once", { text: "first", inputId: "m1" })).toEqual({
    sent: true,
    duplicate: true,
  });
  await client.sendInput("once", { text: "last", inputId: "m2" });
  const output = await untilOutput(client, "once", "last\r\nlast\r\n");
  expect(output).toBe("first\r\nfirst\r\nlast\r\nlast\r\n");
});

test("the relay's mark comes back with the thread", async () => {
  const { client } = sidecar;
  await openTerminal(client, "marked", "cat");
  expect((await client.getThread("marked")).delivery).toBeNull();
  await client.putDelivery("marked", { offset: 12, page: "x" });
  expect((await client.getThread("marked")).delivery).toEqual({ offset: 12, page: "x" });
  const tooLarge = client.putDelivery("marked", { offset: 1, page: "x".repeat(5_000) });
  expect(await refusal(tooLarge)).toMatchObject({ code: "invalid_request" });
});

test("while nothing happens the sidecar sleeps: it wakes some four times a second for itself", async () => {
  const spawned = await spawnSidecar();
  try {
    const { client } = spawned;
    await openTerminal(client, "quiet", "cat");
    const { offset: since } = await client.readOutput("quiet");
    const wakeUps = () =>
      Number(
        /^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${spawned.pid()}/status`, "utf8"))?.[1],
      );
    await client.readOutput("quiet", { since, waitMs: 2_000 }); // what starting up left behind
    const before = wakeUps();
    await client.readOutput("quiet", { since, waitMs: 5_000 });
    expect(wakeUps() - before).toBeLessThan(100);
  } finally {
    await spawned.close();
  }
});
