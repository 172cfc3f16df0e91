/**
 * The relay dies, Discord fails, the sidecar is away: the threads show every row once, and what was typed goes in
 * once. Side by side, since they mostly wait. The short form runs with all tests; `npm run test:siege` runs the long one.
 */
import { beforeAll, expect, type TestContext, test } from "vitest";
import { type Fault, randomFaults } from "../../local-discord/faults.ts";
import { pause } from "../../shared/lifecycle.ts";
import { seededRandom } from "../../shared/random.ts";
import { inFull } from "../support/faults.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import {
  bundleRelay,
  makeRelayProcess,
  type RelayProcess,
  type RelayProgram,
} from "../support/relay-process.ts";
import {
  findDifference,
  lines,
  messy,
  rowsOfLog,
  rowsShown,
  stopPrinting,
  typedLines,
} from "../support/streaming.ts";
import { until } from "../support/wait.ts";

const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));
const KILLS = inFull(200, 3);
const FAULTS_MS = inFull(120_000, 5_000);
const GATEWAY_DROP_MS = inFull(10_000, 2_000);
const SIDECAR_AWAY_MS = inFull(30_000, 2_000);
const DISCORD_AWAY_MS = inFull(8_000, 1_500);
const TIMEOUT_MS = inFull(60 * 60_000, 120_000);

let program: RelayProgram;

beforeAll(async () => {
  console.log(`relay faults: SEED=${SEED}`);
  program = await bundleRelay();
  return () => program.remove();
});

interface TypedThread {
  name: string;
  threadId: string;
  /** What was written to it, in order. */
  typed: string[];
}

async function start(
  { onTestFinished }: Pick<TestContext, "onTestFinished">,
  now: () => number = Date.now,
): Promise<{ all: Everything; relay: RelayProcess; threads: TypedThread[] }> {
  const discord = { now, limits: { identify: { windowMs: 0, total: 10_000 } } };
  const all = await startEverything({ vm: { maxThreads: 50 }, discord, isWithoutRelay: true });
  const relay = makeRelayProcess(program, all.relayConfig, all.sidecar.folders.home);
  onTestFinished(async () => {
    await relay.stop();
    await all.close();
  });
  relay.start();
  await relay.untilReady();
  const threads: TypedThread[] = [];
  for (const [name, command] of [
    ["a", lines("a")],
    ["b", lines("b", 30)],
    ["c", messy("c")],
    ["d", messy("d")],
  ] as const) {
    threads.push({ name, threadId: await all.openTerminal(command), typed: [] });
  }
  return { all, relay, threads };
}

/** A person writes a line here and there, all the time. */
function startTyping(all: Everything, threads: TypedThread[], random: () => number): () => Promise<void> {
  const stop = new AbortController();
  const typing = (async () => {
    for (let count = 1; !stop.signal.aborted; count++) {
      const thread = threads[Math.floor(random() * threads.length)];
      const text = `typed ${count}`;
      thread?.typed.push(text);
      all.discord.driver.post(all.you, thread?.threadId ?? "", text);
      await pause(100 + random() * 900, stop.signal);
    }
  })();
  return async () => {
    stop.abort();
    await typing;
  };
}

/** At the end nothing is missing, nothing is there twice, nothing is out of order. */
async function expectAllToBeRight(
  all: Everything,
  relay: RelayProcess,
  threads: TypedThread[],
): Promise<void> {
  stopPrinting(all);
  const wrong = new Map<string, string>();
  const look = async () => {
    for (const { name, threadId, typed } of threads) {
      const log = await rowsOfLog(all, threadId);
      const difference = log.join("\n").includes("has printed all")
        ? findDifference(rowsShown(all, threadId), log)
        : "still printing";
      const isTyped = JSON.stringify(typedLines(all, name)) === JSON.stringify(typed);
      if (difference === undefined && isTyped) wrong.delete(name);
      else wrong.set(name, difference ?? "typed lines are missing");
    }
    return wrong.size === 0;
  };
  await until("every thread to be right", look, { timeoutMs: 60_000, intervalMs: 250 }).catch(
    () => undefined,
  );
  for (const { name, typed } of threads) expect(typedLines(all, name), `typed into ${name}`).toEqual(typed);
  const said = relay.lines.slice(-15).join("\n");
  expect(Object.fromEntries(wrong), `seed ${SEED}; the relay said:\n${said}`).toEqual({});
  for (const { threadId } of threads) {
    const messages = all.discord.driver.messages(threadId).filter(({ author }) => author.isBot);
    const others = messages.filter(({ content }) => !/^(```|… |▣|🔔)/.test(content));
    expect(
      others.map(({ content }) => content),
      "the opening and nothing else",
    ).toEqual([expect.stringMatching(/started by/)]);
  }
  expect(all.discord.driver.stats.maxPerSecond()).toBeLessThanOrEqual(45);
}

// Promise: R1
test.concurrent(
  "the relay is killed at random moments",
  async (context) => {
    const { all, relay, threads } = await start(context);
    const random = seededRandom(SEED);
    const { driver } = all.discord;
    const stopTyping = startTyping(all, threads, seededRandom(SEED + 1));
    for (let kill = 0; kill < KILLS; kill++) {
      const what = random();
      if (what < 0.2) {
        await pause(random() * 1_000);
      } else if (what < 0.7) {
        await relay.untilReady();
        await pause(random() * 2_000);
      } else {
        // Right when Discord has made a message, before the relay hears of it.
        await relay.untilReady();
        let isMade = false;
        driver.faults.rest = ({ method, body }) => {
          if (method !== "POST" || isMade || !/^```/.test(contentOf(body))) return undefined;
          isMade = true;
          return { kind: "stall", isApplied: true };
        };
        // On a slow machine it may be long until the next one: then it dies at just any moment.
        await until("a message to be made", () => isMade, { timeoutMs: 15_000, intervalMs: 5 }).catch(
          () => undefined,
        );
        driver.faults.rest = undefined;
      }
      await relay.kill9();
      if (random() < 0.3) await pause(random() * 1_500); // some lines are typed while nobody listens
      relay.start();
    }
    await stopTyping();
    await expectAllToBeRight(all, relay, threads);
  },
  TIMEOUT_MS,
);

// Promise: R23
test.concurrent(
  "Discord fails one request in twenty, the gateway drops, both sides are away for a while",
  async (context) => {
    const { all, relay, threads } = await start(context);
    const { driver } = all.discord;
    const stopTyping = startTyping(all, threads, seededRandom(SEED + 2));
    const few = randomFaults({ seed: SEED, probability: 0.05, faults: FAULTS });
    driver.faults.rest = few;
    const drops = [
      () => driver.gateway.dropAll(),
      () => driver.gateway.closeAll(1000), // no resume: a new session
      () => driver.gateway.requestReconnect(),
      () => driver.gateway.invalidateSessions(false),
    ];
    for (let at = 0, drop = 0; at < FAULTS_MS; at += GATEWAY_DROP_MS, drop++) {
      drops[drop % drops.length]?.();
      await pause(GATEWAY_DROP_MS);
    }
    await all.sidecar.stop();
    await pause(SIDECAR_AWAY_MS);
    await all.sidecar.restart();
    driver.faults.rest = () => ({ kind: "status", status: 503 });
    await pause(DISCORD_AWAY_MS);
    driver.faults.rest = undefined;
    await stopTyping();
    await expectAllToBeRight(all, relay, threads);
  },
  TIMEOUT_MS,
);

// Promise: R1
test.concurrent(
  "typed while nobody listened: what is fresh goes in, what is older than ten minutes is asked about",
  async (context) => {
    let lagMs = 15 * 60_000;
    const { all, relay, threads } = await start(context, () => Date.now() - lagMs);
    const { driver } = all.discord;
    const [first] = threads;
    if (!first) throw new Error("no thread");
    const type = (text: string) => driver.post(all.you, first.threadId, text);
    const typed = (...expected: string[]) =>
      until(
        `${expected.join(", ")} to be typed`,
        () => typedLines(all, first.name).join() === expected.join(),
      );
    const before = type("before");
    await typed("before");
    const isNoted = async () => {
      const { delivery } = await all.sidecar.client.getThread(first.threadId);
      return BigInt(String(delivery?.["seen"] ?? 0)) >= BigInt(before.id);
    };
    await until("the message to be noted", isNoted);
    await relay.kill9();
    const old = type("from long ago");
    lagMs = 0;
    type("from just now");
    type("and one more");
    relay.start();
    await typed("before", "from just now", "and one more");
    const isQuestion = ({ content }: { content: string }) => content.includes("while nobody was listening");
    const questions = () => driver.messages(first.threadId).filter(isQuestion);
    const question = await driver.until(() => questions()[0], { what: "a question" });
    expect(question.replyTo?.id).toBe(old.id);
    // Also where it dies again before all of that is noted, it asks no second time and types nothing again.
    await relay.kill9();
    relay.start();
    await relay.untilReady();
    type("at last");
    await typed("before", "from just now", "and one more", "at last");
    expect(questions()).toHaveLength(1);
    driver.press(all.you, question.id, `send:${old.id}`);
    await typed("before", "from just now", "and one more", "at last", "from long ago");
  },
  TIMEOUT_MS,
);

test.concurrent(
  "a new gateway session: what was written in between goes in first",
  async (context) => {
    const { all, relay, threads } = await start(context);
    const { driver } = all.discord;
    const [first] = threads;
    if (!first) throw new Error("no thread");
    const written = ["one"];
    driver.post(all.you, first.threadId, "one");
    // Nothing of what the bot asks for is answered at once, while events come as they happen.
    driver.faults.rest = ({ method }) => (method === "GET" ? { kind: "pass", latencyMs: 700 } : undefined);
    driver.gateway.isRefusing = true;
    driver.gateway.forgetSessions();
    driver.gateway.dropAll();
    await driver.until(() => !driver.isBotOnline, { what: "the connection to end" });
    for (const text of ["two", "three"]) {
      driver.post(all.you, first.threadId, text);
      written.push(text);
    }
    driver.gateway.isRefusing = false;
    await driver.until(() => driver.isBotOnline, { what: "a new session", timeoutMs: 20_000 });
    driver.post(all.you, first.threadId, "four");
    written.push("four");
    const look = () => JSON.stringify(typedLines(all, first.name)) === JSON.stringify(written);
    await until("all to be typed in order", look, { timeoutMs: 20_000 }).catch(() => undefined);
    expect(typedLines(all, first.name), relay.lines.slice(-5).join("\n")).toEqual(written);
  },
  TIMEOUT_MS,
);

test.concurrent(
  "what was written while the gateway was away goes in, also where pages sent since stand below it",
  async (context) => {
    const { all, relay, threads } = await start(context);
    const { driver } = all.discord;
    const thread = threads[1];
    if (!thread) throw new Error("no thread");
    driver.gateway.isRefusing = true;
    driver.gateway.dropAll();
    await driver.until(() => !driver.isBotOnline, { what: "the connection to end" });
    const { id } = driver.post(all.you, thread.threadId, "in the dark");
    const isBelow = async () => {
      const rows = (await all.sidecar.client.listLedgers())[thread.threadId] ?? [];
      return rows.some(({ messageId }) => messageId !== null && BigInt(messageId) > BigInt(id));
    };
    await until("a page below to be noted", isBelow, { timeoutMs: 30_000 });
    await relay.kill9();
    driver.gateway.isRefusing = false;
    relay.start();
    const look = () => typedLines(all, thread.name).join() === "in the dark";
    await until("the line to be typed", look, { timeoutMs: 30_000 });
  },
  TIMEOUT_MS,
);

test.concurrent(
  "a page is not edited once it is nearly an hour old: what comes then begins a new one",
  async ({ onTestFinished }) => {
    let skewMs = 0;
    const now = () => Date.now() + skewMs;
    const all = await startEverything({ now });
    onTestFinished(() => all.close());
    const { driver } = all.discord;
    const threadId = await all.openTerminal("stty -echo; seq 30; cat");
    await all.untilShown(threadId, "30");
    const pages = () => driver.messages(threadId).filter(({ content }) => content.startsWith("```"));
    const [old] = pages();
    skewMs = 55 * 60_000;
    // Not typed in Discord, where a new page would begin anyway.
    await all.sidecar.client.sendInput(threadId, { text: "much later" });
    await all.untilShown(threadId, "much later");
    expect(pages().length).toBeGreaterThan(1);
    expect(pages()[0]?.id).toBe(old?.id);
    expect(old?.content).toContain(pages()[0]?.content.split("\n").slice(1, -1).join("\n"));
    const text = all.terminalText(threadId).split("\n");
    expect(text).toEqual([...Array.from({ length: 30 }, (_, i) => String(i + 1)), "much later"]);
    expect(driver.stats.rateLimited).toBe(0);
  },
  TIMEOUT_MS,
);

const FAULTS: Fault[] = [
  { kind: "status", status: 500 },
  { kind: "status", status: 502, isHtml: true },
  { kind: "status", status: 503 },
  { kind: "stall", isApplied: false },
  { kind: "stall", isApplied: true },
  { kind: "stall-body" },
  { kind: "drop", how: "rst", isApplied: true },
  { kind: "drop", how: "rst", isApplied: false },
  { kind: "drop", how: "fin", isApplied: true },
  { kind: "drop", how: "fin", isApplied: false },
];

function contentOf(body: unknown): string {
  const content: unknown =
    typeof body === "object" && body !== null ? Reflect.get(body, "content") : undefined;
  return typeof content === "string" ? content : "";
}
