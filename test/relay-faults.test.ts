/**
 * The relay dies, Discord fails, the sidecar is away: the threads show every row once, and what was typed goes in
 * once. The short form runs with all tests; `npm run test:faults` runs the long one.
 */
import { afterEach, beforeAll, expect, test } from "vitest";
import { type Fault, randomFaults, seededRandom } from "../relay/local-discord/faults.ts";
import { pause } from "../shared/lifecycle.ts";
import { type Everything, startEverything } from "./support/relay.ts";
import {
  bundleRelay,
  makeRelayProcess,
  type RelayProcess,
  type RelayProgram,
} from "./support/relay-process.ts";
import {
  findDifference,
  lines,
  messy,
  rowsOfLog,
  rowsShown,
  stopPrinting,
  typedLines,
} from "./support/streaming.ts";
import { until } from "./support/wait.ts";

const IS_FULL = process.env["THREADMUX_FAULTS"] === "full";
const SEED = Number(process.env["THREADMUX_SEED"] ?? Math.floor(Math.random() * 1e9));
const KILLS = IS_FULL ? 200 : 6;
const FAULTS_MS = IS_FULL ? 120_000 : 9_000;
const GATEWAY_DROP_MS = IS_FULL ? 10_000 : 2_500;
const SIDECAR_AWAY_MS = IS_FULL ? 30_000 : 2_000;
const DISCORD_AWAY_MS = IS_FULL ? 8_000 : 1_500;
const TIMEOUT_MS = IS_FULL ? 30 * 60_000 : 90_000;

let program: RelayProgram;
let all: Everything | undefined;
let relay: RelayProcess | undefined;

beforeAll(async () => {
  console.log(`seed of the faults: ${SEED} (THREADMUX_SEED)`);
  program = await bundleRelay();
  return () => program.remove();
});
afterEach(async () => {
  await relay?.stop();
  relay = undefined;
  await all?.close();
  all = undefined;
});

interface Session {
  name: string;
  threadId: string;
  /** What was written to it, in order. */
  typed: string[];
}

async function start(): Promise<{ all: Everything; relay: RelayProcess; sessions: Session[] }> {
  all = await startEverything({ vm: { maxThreads: 50 }, isWithoutRelay: true });
  relay = makeRelayProcess(program, all.relayConfig, all.sidecar.folders.home);
  relay.start();
  await relay.untilReady();
  const sessions: Session[] = [];
  for (const [name, command] of [
    ["a", lines("a")],
    ["b", lines("b", 30)],
    ["c", messy("c")],
    ["d", messy("d")],
  ] as const) {
    sessions.push({ name, threadId: await all.openTerminal(command), typed: [] });
  }
  return { all, relay, sessions };
}

/** A person writes a line here and there, all the time. */
function startTyping(all: Everything, sessions: Session[], random: () => number): () => Promise<void> {
  const stop = new AbortController();
  const typing = (async () => {
    for (let count = 1; !stop.signal.aborted; count++) {
      const session = sessions[Math.floor(random() * sessions.length)];
      const text = `typed ${count}`;
      session?.typed.push(text);
      all.discord.driver.post(all.you, session?.threadId ?? "", text);
      await pause(100 + random() * 900, stop.signal);
    }
  })();
  return async () => {
    stop.abort();
    await typing;
  };
}

/** At the end nothing is missing, nothing is there twice, nothing is out of order. */
async function expectAllToBeRight(all: Everything, relay: RelayProcess, sessions: Session[]): Promise<void> {
  stopPrinting(all);
  const wrong = new Map<string, string>();
  const look = async () => {
    for (const { name, threadId, typed } of sessions) {
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
  await until("every thread to be right", look, { timeoutMs: 45_000, intervalMs: 250 }).catch(
    () => undefined,
  );
  for (const { name, typed } of sessions) expect(typedLines(all, name), `typed into ${name}`).toEqual(typed);
  const said = relay.lines.slice(-15).join("\n");
  expect(Object.fromEntries(wrong), `seed ${SEED}; the relay said:\n${said}`).toEqual({});
  for (const { threadId } of sessions) {
    const messages = all.discord.driver.messages(threadId).filter(({ author }) => author.isBot);
    const others = messages.filter(({ content }) => !/^(```|… |▣|🔔)/.test(content));
    expect(
      others.map(({ content }) => content),
      "the opening and nothing else",
    ).toEqual([expect.stringMatching(/started by/)]);
  }
  expect(all.discord.driver.stats.maxPerSecond()).toBeLessThanOrEqual(45);
}

test(
  "the relay is killed at random moments",
  async () => {
    const { all, relay, sessions } = await start();
    const random = seededRandom(SEED);
    const { driver } = all.discord;
    const stopTyping = startTyping(all, sessions, seededRandom(SEED + 1));
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
        await until("a message to be made", () => isMade, { timeoutMs: 20_000, intervalMs: 5 });
        driver.faults.rest = undefined;
      }
      await relay.kill9();
      if (random() < 0.3) await pause(random() * 1_500); // some lines are typed while nobody listens
      relay.start();
    }
    await stopTyping();
    await expectAllToBeRight(all, relay, sessions);
  },
  TIMEOUT_MS,
);

test(
  "Discord fails one request in twenty, the gateway drops, both sides are away for a while",
  async () => {
    const { all, relay, sessions } = await start();
    const { driver } = all.discord;
    const stopTyping = startTyping(all, sessions, seededRandom(SEED + 2));
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
    await expectAllToBeRight(all, relay, sessions);
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
