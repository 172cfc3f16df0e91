/** What Discord limits, refuses or leaves without an answer: it delays what it concerns, and people read why. */
import { expect, test } from "vitest";
import type { FaultRequest } from "../../local-discord/faults.ts";
import { runRelay } from "../../relay/run.ts";
import { createLog } from "../../shared/log.ts";
import { closeBucket, shutBucket } from "../support/limits.ts";
import { type Everything, startEverything, startForTest } from "../support/relay.ts";
import { until } from "../support/wait.ts";

const CLOSED_MS = 25_000;

const isThreadMade = ({ method, route }: FaultRequest) =>
  method === "POST" && route.endsWith("/channels/:channel/threads");

async function showsLine(all: Everything, threadId: string, line: string): Promise<void> {
  await all.sidecar.client.sendInput(threadId, { text: line });
  await all.untilShown(threadId, `${line}\n${line}`);
}

test.concurrent("a limit of one thread's messages delays that thread alone", async ({ onTestFinished }) => {
  const all = await startForTest({ onTestFinished });
  const closed = await all.openTerminal("cat");
  const other = await all.openTerminal("cat");
  await showsLine(all, other, "before");
  const isMessage = ({ path }: FaultRequest) => path.includes(`/channels/${closed}/messages`);
  const bucket = shutBucket(all.discord.driver, isMessage, CLOSED_MS);
  const startedAt = performance.now();
  await all.sidecar.client.sendInput(closed, { text: "held up" });
  await until("the limit to be met", () => bucket.hits() > 0);
  // One that waits with it would never be shown.
  for (const line of ["one", "two", "three"]) await showsLine(all, other, line);
  expect(all.terminalText(closed)).not.toContain("held up");
  // Asked for again when Discord said, not before: what it refuses counts against the bot.
  const times = 1 + Math.floor((performance.now() - startedAt) / CLOSED_MS);
  expect(bucket.hits()).toBeLessThanOrEqual(3 * times);
});

test.concurrent("a limit of one interaction's answer delays that answer alone", async ({
  onTestFinished,
}) => {
  const all = await startForTest({ onTestFinished });
  const other = await all.openTerminal("cat");
  const bucket = shutBucket(all.discord.driver, ({ path }) => path.includes("/webhooks/"), CLOSED_MS);
  all.discord.driver.command(all.you, all.discord.channelId, "status");
  await until("the limit to be met", () => bucket.hits() > 0);
  for (const line of ["one", "two"]) await showsLine(all, other, line);
});

test.concurrent("a limit of new threads: the person reads how long, others go on, then theirs is made", async ({
  onTestFinished,
}) => {
  const all = await startForTest({ onTestFinished });
  const other = await all.openTerminal("cat");
  const bucket = closeBucket(all.discord.driver, isThreadMade, 6_000, "shared");
  const command = all.discord.driver.command(all.you, all.discord.channelId, "terminal", {
    dir: ".",
    command: "cat",
  });
  const waits = await all.discord.driver.until(
    () => command.find()?.content.includes("⏳") && command.find(),
    {
      what: "a word about the wait",
    },
  );
  expect(waits.content).toMatch(
    /^⏳ Discord allows no new thread here for [67] s; yours is made then, <t:\d+:R>\.$/,
  );
  await showsLine(all, other, "meanwhile");
  const made = await all.discord.driver.until(() => /<#(\d+)>/.exec(command.find()?.content ?? "")?.[1], {
    what: "the thread",
    timeoutMs: 20_000,
  });
  await showsLine(all, made, "here I am");
  expect(bucket.hits()).toBeLessThanOrEqual(2);
});

test.concurrent("a limit of the whole bot does hold up every thread", async ({ onTestFinished }) => {
  const all = await startForTest({ onTestFinished });
  const [first, second] = [await all.openTerminal("cat"), await all.openTerminal("cat")];
  await showsLine(all, second, "before");
  const bucket = closeBucket(
    all.discord.driver,
    ({ path }) => path.includes(`/channels/${first}/`),
    3_000,
    "global",
  );
  await all.sidecar.client.sendInput(first, { text: "too fast" });
  await until("the limit to be met", () => bucket.hits() > 0);
  await showsLine(all, second, "waits as well");
  // From Discord's answer on, however late this test has seen it.
  expect(Date.now() - (bucket.closedAt() ?? 0)).toBeGreaterThanOrEqual(2_500);
});

test.concurrent("Discord's refusal of a thread is told in its own words", async ({ onTestFinished }) => {
  const all = await startForTest({ onTestFinished }, { discord: { limits: { activeThreads: 1 } } });
  const run = () =>
    all.discord.driver
      .command(all.you, all.discord.channelId, "terminal", { dir: ".", command: "cat" })
      .reply();
  await all.openTerminal("cat");
  expect((await run()).content).toBe(
    "⚠️ This server has as many active threads as Discord allows (1,000): archive some, then try again.",
  );
  all.discord.driver.denyBot(["createPublicThreads"]);
  expect((await run()).content).toMatch(
    /^⚠️ I may not create threads here: Discord says "Missing Permissions"\./,
  );
});

test.concurrent.each([
  ["the connection ends", { kind: "drop", how: "fin", isApplied: true }],
  ["only half of an answer comes", { kind: "stall-body" }],
] as const)("a thread is made but %s: it is found and used", async (_what, fault) => {
  const all = await startEverything();
  try {
    let isFirst = true;
    all.discord.driver.faults.rest = (request) => {
      if (!isThreadMade(request) || !isFirst) return undefined;
      isFirst = false;
      return fault;
    };
    const answer = await all.discord.driver
      .command(all.you, all.discord.channelId, "terminal", { dir: ".", command: "cat" })
      .reply({ timeoutMs: 25_000 });
    const threads = all.discord.driver.threads();
    expect(threads).toHaveLength(1);
    expect(answer.content).toBe(`🖥 Running in <#${threads[0]?.id}>`);
    await showsLine(all, threads[0]?.id ?? "", "it works");
  } finally {
    await all.close();
  }
});

test.concurrent.for([
  ["nobody answers", undefined],
  ["nobody answers, nor tells which threads there are", 503],
] as const)(
  "a thread is not made and %s: that is said; made late, it is removed",
  async ([, status], { onTestFinished }) => {
    const all = await startForTest({ onTestFinished });
    const { driver } = all.discord;
    driver.faults.rest = (request) => {
      if (isThreadMade(request)) return { kind: "drop", how: "rst", isApplied: false };
      const isList = request.path.endsWith("/threads/active");
      return isList && status !== undefined ? { kind: "status", status } : undefined;
    };
    const answer = await driver
      .command(all.you, all.discord.channelId, "terminal", { dir: ".", command: "cat" })
      .reply({ timeoutMs: 25_000 });
    expect(answer.content).toBe("⚠️ Discord did not answer, so nothing was started; try again.");
    expect(driver.threads()).toEqual([]);
    driver.faults.rest = undefined;
    // What Discord does with the request in the end, which nobody can know.
    const response = await fetch(`${all.discord.apiUrl}/v10/channels/${all.discord.channelId}/threads`, {
      method: "POST",
      headers: { authorization: `Bot ${all.discord.botToken}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "🖥 . — cat", type: 11 }),
    });
    expect(response.status).toBe(201);
    await driver.until(() => driver.threads().length === 0, { what: "the late thread to be removed" });
    await showsLine(all, await all.openTerminal("cat"), "and the next one stays");
  },
);

test.concurrent("the relay starts although Discord fails its first requests", async ({ onTestFinished }) => {
  const all = await startForTest({ onTestFinished }, { isWithoutRelay: true });
  const failures = new Map<string, number>();
  all.discord.driver.faults.rest = ({ route, path }) => {
    const isMeant = path.endsWith("/commands") || path.endsWith(`/channels/${all.discord.channelId}`);
    const count = failures.get(route) ?? 0;
    if (!isMeant || count >= 8) return undefined;
    failures.set(route, count + 1);
    return count % 2 === 0 ? { kind: "status", status: 503 } : { kind: "drop", how: "fin", isApplied: false };
  };
  await all.startRelay();
  expect([...failures.values()]).toEqual([8, 8]);
  await showsLine(all, await all.openTerminal("cat"), "at last");
});

test.concurrent.each([
  [
    403,
    50001,
    "Missing Access",
    /does not let the bot register its commands \("Missing Access"\): invite it again/,
  ],
  [401, 0, "401: Unauthorized", /refused the bot's token: check DISCORD_TOKEN/],
])("what ends the start for good says what to do: %s", async (status, code, message, sentence) => {
  const all = await startEverything({ isWithoutRelay: true });
  try {
    all.discord.driver.faults.rest = ({ path }) =>
      path.endsWith("/commands") ? { kind: "status", status, body: { code, message } } : undefined;
    const log = createLog("relay", "silent");
    await expect(runRelay(all.relayConfig, { log })).rejects.toThrow(sentence);
  } finally {
    await all.close();
  }
});
