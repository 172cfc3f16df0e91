/** A transcript of 100,000 events in a real browser: opening, scrolling, memory. */
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { threadPath } from "../../shared/agent/paths.ts";
import { openAgent, STAND_IN_CONFIG, script, standIn, untilStatus } from "../support/agents.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import { drawnRows, openConversation, untilText } from "../support/conversation.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until, untilValue } from "../support/wait.ts";

const EVENTS = 100_000;

let sidecar: TestSidecar;
let browser: Browser;
let bytes = 0;
beforeAll(async () => {
  buildPages();
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, agent: standIn({ idleSeconds: 1 }) });
  await openAgent(sidecar, "long", script("Hello", { text: "Hello." }));
  await untilStatus(sidecar, "long", "idle");
  await until("no runner", async () => !(await sidecar.client.getThread("long")).processRunning);
  await sidecar.stop();
  const file = threadPath(join(sidecar.stateDir, "threads", "long"), "transcript");
  appendFileSync(file, makeEvents(readFileSync(file, "utf8").trimEnd().split("\n").length));
  bytes = readFileSync(file).length;
  await sidecar.restart();
  // A runner wakes up, and the sidecar reads what is there.
  await sidecar.client.sendInput("long", { text: script("And now?", { text: "Awake." }) });
  await untilValue("the last words", async () => (await wordsSince(bytes)).includes("Awake."), Boolean, {
    timeoutMs: 90_000,
    intervalMs: 200,
  });
  browser = await startBrowser();
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await sidecar?.close();
});

async function wordsSince(since: number): Promise<string> {
  const headers = { authorization: `Bearer ${sidecar.token}` };
  const reply = await fetch(`${sidecar.url}/thread/long/transcript?since=${since}`, { headers });
  return reply.ok ? reply.text() : "";
}

/** Texts of many lengths and scripts, calls with results, some of which stand far below them. */
function makeEvents(from: number): string {
  const lines: string[] = [];
  const add = (body: object) => {
    const seq = from + lines.length + 1;
    const ts = new Date(Date.UTC(2026, 0, 1) + seq * 1_000).toISOString();
    lines.push(JSON.stringify({ seq, id: `r${seq}.0`, ts, ...body }));
    return seq;
  };
  for (let i = 0; lines.length < EVENTS; i++) {
    const toolCallId = `call-${i}`;
    add({
      type: "agent_message",
      messageId: `m${i}`,
      at: `m${i}`,
      text: `Text ${i}: ${"日本 word ".repeat(i % 50)}`,
    });
    add({
      type: "tool_call",
      toolCallId,
      at: toolCallId,
      name: "Bash",
      title: `Bash step ${i}`,
      kind: "execute",
      rawInput: { command: `echo ${i}` },
    });
    const late = i % 1_000 === 999 ? 400 : 0;
    for (let n = 0; n < late; n++)
      add({ type: "agent_message", messageId: `n${i}.${n}`, at: "n", text: `Meanwhile ${n}` });
    const content = [{ type: "content", content: { type: "text", text: `out ${i}\n`.repeat(1 + (i % 30)) } }];
    add({ type: "tool_call_update", toolCallId, status: "completed", durationMs: 5, content });
  }
  return `${lines.slice(0, EVENTS).join("\n")}\n`;
}

async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = (await session.send("Runtime.getHeapUsage")) as { usedSize: number };
  await session.detach();
  return usedSize;
}

/** The events whose rows are in sight, and whether some of it is still to be loaded. */
function inSight(page: Page): Promise<{ isLoading: boolean; seqs: number[] }> {
  return page.locator("#transcript").evaluate((scroller) => {
    const box = scroller.getBoundingClientRect();
    const rows = [...scroller.querySelectorAll<HTMLElement>(".row")].filter((row) => {
      const { top, bottom } = row.getBoundingClientRect();
      return bottom > box.top && top < box.bottom;
    });
    const isLoading = scroller.querySelector(".waiting-rows") !== null;
    return { isLoading, seqs: rows.map((row) => Number(row.dataset["seq"])) };
  });
}

/** Scrolls to a part of the whole, and waits for its rows. */
async function scrollTo(page: Page, part: number): Promise<{ ms: number; seq: number }> {
  const startedAt = performance.now();
  await page.locator("#transcript").evaluate((scroller, to) => {
    scroller.scrollTo(0, (scroller.scrollHeight - scroller.clientHeight) * to);
  }, part);
  const { seqs } = await untilValue(
    `the rows at ${part}`,
    () => inSight(page),
    ({ isLoading, seqs }) => !isLoading && seqs.length > 3,
    { intervalMs: 10 },
  );
  expect(seqs).toEqual([...seqs].sort((x, y) => x - y));
  return { ms: performance.now() - startedAt, seq: seqs[0] ?? 0 };
}

test("100,000 events: the newest at once, any other within a moment, memory bounded", {
  timeout: 120_000,
}, async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const startedAt = performance.now();
  const { page, problems } = await openConversation(context, sidecar, "long");
  const answered: number[] = [];
  page.on("response", async (response) => {
    if (response.url().includes("/transcript"))
      answered.push((await response.body().catch(() => Buffer.alloc(0))).length);
  });
  await untilText(page, "#rows", /Awake\.\s+Done/);
  const openedMs = performance.now() - startedAt;
  const heapAtOpen = await heapBytes(page);

  const parts = [0, 0.5, 0.25, 0.75, 0.1, 0.9, 0.33, 0.66];
  const jumps: number[] = [];
  const found: { part: number; seq: number }[] = [];
  for (const part of parts) {
    const { ms, seq } = await scrollTo(page, part);
    jumps.push(ms);
    found.push({ part, seq });
  }
  // The order of the parts is the order of the events.
  const seqs = found.sort((x, y) => x.part - y.part).map(({ seq }) => seq);
  expect(seqs).toEqual([...seqs].sort((x, y) => x - y));
  expect(seqs[0]).toBeLessThan(20);

  // A page at a time through a part of it: no event is left out, each call has its result.
  await scrollTo(page, 0.4);
  const seen = new Map<number, boolean>();
  const frames: number[] = [];
  for (let step = 0; step < 150; step++) {
    for (const { seq, ending, text } of await drawnRows(page))
      seen.set(seq, !text.includes("Bash step") || ending !== undefined);
    frames.push(
      await page.locator("#transcript").evaluate(async (scroller) => {
        const before = performance.now();
        scroller.scrollBy(0, scroller.clientHeight * 0.8);
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        return performance.now() - before;
      }),
    );
    await untilValue(
      "the rows",
      () => page.locator(".waiting-rows").count(),
      (n) => n === 0,
      { intervalMs: 5 },
    );
  }
  const [first, last] = [Math.min(...seen.keys()), Math.max(...seen.keys())];
  expect(last - first).toBeGreaterThan(1_000);
  const missing: number[] = [];
  for (let seq = first; seq <= last; seq++) if (!seen.has(seq)) missing.push(seq);
  // What is missing are results that stand in their calls' rows.
  for (const seq of missing) expect(seen.has(seq - 1)).toBe(true);

  const heap = await heapBytes(page);
  const nodes = await page.locator("#transcript *").count();
  expect(heap).toBeLessThan(80 * 1024 * 1024);
  expect(nodes).toBeLessThan(2_000);
  frames.sort((a, b) => a - b);
  jumps.sort((a, b) => a - b);
  if (process.env["MEASURE"]) {
    const mib = (n: number) => `${(n / 1024 / 1024).toFixed(1)} MiB`;
    console.log(
      `${EVENTS} events, ${mib(bytes)}: open ${Math.round(openedMs)} ms; heap ${mib(heapAtOpen)} at open, ${mib(heap)} after; ` +
        `${nodes} nodes; jump median ${Math.round(jumps[4] ?? 0)} ms, max ${Math.round(jumps.at(-1) ?? 0)} ms; ` +
        `scroll frame median ${frames[75]?.toFixed(1)} ms, p95 ${frames[142]?.toFixed(1)} ms; ` +
        `${answered.length} reads, ${mib(answered.reduce((sum, n) => sum + n, 0))}`,
    );
  }
  await page.click("#newest");
  await untilText(page, "#rows", /Awake\.\s+Done/);
  expect(problems).toEqual([]);
  await context.close();
});
