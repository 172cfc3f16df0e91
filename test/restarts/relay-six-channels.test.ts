/**
 * Six channels with threads that print and are typed into, on a Discord with its limits: relay and sidecar are killed,
 * Discord refuses, one channel is deleted and one closed to the bot in the midst. Two threads a channel run with all
 * tests, ten with `npm run test:siege`.
 */
import { expect, type TestContext, test } from "vitest";
import { randomFaults } from "../../local-discord/faults.ts";
import { type LocalDiscord, runLocalDiscord } from "../../local-discord/run.ts";
import { pause } from "../../shared/lifecycle.ts";
import { channels } from "../../shared/protocol/channels.ts";
import { seededRandom } from "../../shared/random.ts";
import { inFull } from "../support/faults.ts";
import { relayConfigFor } from "../support/relay-config.ts";
import { bundleRelay, makeRelayProcess, type RelayProcess } from "../support/relay-process.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";
import {
  findDifference,
  lines,
  rowsOfLog,
  rowsShown,
  stopPrinting,
  typedLines,
} from "../support/streaming.ts";
import { until, untilValue } from "../support/wait.ts";

const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));
const CHANNELS = 6;
const PER_CHANNEL = inFull(10, 2);
/** The number of kills; the short form has one for each process. */
const KILLS = inFull(20, 2);
const TIMEOUT_MS = inFull(30 * 60_000, 180_000);
/**
 * Time between two lines of a thread, in milliseconds: sixty faster threads would be a flood, which is shown with gaps.
 */
const LINE_MS = inFull(1_000, 300);

interface Typed {
  name: string;
  threadId: string;
  channelId: string;
  typed: string[];
}

interface Town {
  sidecar: SpawnedSidecar;
  discord: LocalDiscord;
  relay: RelayProcess;
  channelIds: string[];
  threads: Typed[];
}

async function build({ onTestFinished }: Pick<TestContext, "onTestFinished">): Promise<Town> {
  const program = await bundleRelay();
  onTestFinished(() => program.remove());
  const sidecar = await spawnSidecar({ MAX_THREADS: String(CHANNELS * PER_CHANNEL) });
  onTestFinished(() => sidecar.close());
  const discord = await runLocalDiscord({ limits: { identify: { windowMs: 0, total: 10_000 } } });
  onTestFinished(() => discord.close());
  const { driver, you } = discord;
  const names = Array.from({ length: CHANNELS - 1 }, (_, i) => `c${i + 1}`);
  const channelIds = [discord.channelId, ...names.map((name) => driver.createChannel(name).id)];
  await sidecar.client.putPeople([{ id: you.id, role: "maker" }]);
  const relay = makeRelayProcess(program, relayConfigFor(sidecar, discord), sidecar.folders.home);
  onTestFinished(() => relay.stop());
  relay.start();
  await relay.untilReady();
  for (const channelId of channelIds.slice(1))
    await sidecar.client.call(channels.set, { channelId }, { body: { dir: "." } });
  const threads: Typed[] = [];
  for (let i = 0; i < CHANNELS * PER_CHANNEL; i++) {
    const channelId = channelIds[i % CHANNELS] ?? "";
    const name = `c${i % CHANNELS}-t${Math.floor(i / CHANNELS)}`;
    const { id: threadId } = driver.createThread(you.id, name, channelId);
    const made = { type: "terminal", dir: ".", command: lines(name, LINE_MS) } as const;
    await sidecar
      .as(you.id)
      .createThread({ threadId, ...made, home: { channelId: threadId, parentId: channelId } });
    threads.push({ name, threadId, channelId, typed: [] });
  }
  await relay.kill9();
  relay.start();
  await until(
    "all to be shown",
    () => threads.every(({ threadId, name }) => driver.text(threadId).includes(`${name} line`)),
    {
      timeoutMs: 60_000,
    },
  );
  return { sidecar, discord, relay, channelIds, threads };
}

const rowOf = async ({ sidecar }: Town, channelId: string) =>
  (await sidecar.client.call(channels.list, {})).channels.find(({ id }) => id === channelId);

/** The messages about a lost channel, in all channels together. */
const tellings = ({ discord }: Town, name: string) =>
  discord.driver
    .channels()
    .flatMap(({ id }) => discord.driver.messages(id))
    .filter(({ content }) => content.includes(`I can't serve #${name}`)).length;

/** Makes a person write into one random thread after the other. */
function startTyping({ discord }: Town, threads: () => readonly Typed[], random: () => number) {
  const stop = new AbortController();
  const typing = (async () => {
    for (let count = 1; !stop.signal.aborted; count++) {
      const now = threads();
      const thread = now[Math.floor(random() * now.length)];
      if (!thread) return;
      const text = `${thread.name} typed ${count}`;
      thread.typed.push(text);
      discord.driver.post(discord.you.id, thread.threadId, text);
      await pause(100 + random() * 500, stop.signal);
    }
  })();
  return async () => {
    stop.abort();
    await typing;
  };
}

async function expectRight(town: Town, threads: readonly Typed[]): Promise<void> {
  const { discord, relay, sidecar } = town;
  const wrong = new Map<string, string>();
  const look = async () => {
    for (const { name, threadId, typed } of threads) {
      const log = await rowsOfLog(town, threadId);
      const hasEnded = log.join("\n").includes("has printed all");
      const difference = hasEnded ? findDifference(rowsShown(town, threadId), log) : "still printing";
      const isTyped = JSON.stringify(typedLines(town, name)) === JSON.stringify(typed);
      if (difference === undefined && isTyped) wrong.delete(name);
      else wrong.set(name, difference ?? `typed ${typedLines(town, name).length} of ${typed.length}`);
    }
    return wrong.size === 0;
  };
  await until("every thread to be right", look, { timeoutMs: 120_000, intervalMs: 500 }).catch(
    () => undefined,
  );
  const said = relay.lines.slice(-15).join("\n");
  expect(Object.fromEntries(wrong), `seed ${SEED}; the relay said:\n${said}`).toEqual({});
  for (const { name, threadId, channelId } of threads) {
    expect(discord.driver.findThread(threadId)?.parentId).toBe(channelId);
    const foreign = [...discord.driver.text(threadId).matchAll(/\bc\d-t\d+\b/g)].filter(
      ([at]) => at !== name,
    );
    expect(foreign, `what stands in ${name}`).toEqual([]);
    expect(await sidecar.client.getThread(threadId)).toMatchObject({ status: "running" });
  }
  for (const { id } of discord.driver.channels())
    expect(discord.driver.text(id)).not.toMatch(/c\d-t\d+ (line|typed)/);
}

// Promise: R1
test(
  "kills, limits, a channel deleted and one closed: everything once, nothing in a wrong channel",
  async (context) => {
    const town = await build(context);
    const { discord, relay, sidecar, channelIds, threads } = town;
    const { driver } = discord;
    const random = seededRandom(SEED);
    const [closed = "", gone = ""] = channelIds.slice(-2);
    const of = (...ids: string[]) => threads.filter(({ channelId }) => ids.includes(channelId));
    const kept = of(...channelIds.slice(0, -2));
    let typedInto: readonly Typed[] = threads;
    const stopTyping = startTyping(town, () => typedInto, seededRandom(SEED + 1));
    driver.faults.rest = randomFaults({
      seed: SEED,
      probability: 0.05,
      faults: [{ kind: "rate-limit", scope: "user", retryAfterMs: 300 }],
    });
    for (let kill = 0; kill < KILLS; kill++) {
      await pause(random() * 1_500);
      if (kill === Math.floor(KILLS / 2)) {
        typedInto = kept;
        driver.deleteChannel(gone);
        driver.denyBot(["sendMessages", "sendMessagesInThreads"], closed);
      }
      const victim = kill % 2 === 0 ? relay : sidecar;
      await victim.kill9();
      await pause(random() * 500);
      await victim.start();
    }
    for (const [id, problem] of [
      [gone, "no such channel"],
      [closed, "I lack Send Messages"],
    ] as const)
      await untilValue(
        "its problem",
        () => rowOf(town, id),
        (row) => row?.problem?.includes(problem) === true,
        { timeoutMs: 60_000 },
      );
    const names = channelIds.map((_, i) => `c${i}`);
    const [closedName = "", goneName = ""] = names.slice(-2);
    await until("both to be told", () => tellings(town, goneName) + tellings(town, closedName) >= 2, {
      timeoutMs: 60_000,
    });
    driver.faults.rest = undefined;

    await stopTyping();
    const isIn = ({ name, typed }: Typed) => typedLines(town, name).length >= typed.length;
    await until("all to go in", () => kept.every(isIn), { timeoutMs: 60_000 });

    // A relay that starts anew looks little up, whatever was lost, and does not announce the loss once more.
    await relay.untilReady();
    await relay.kill9();
    driver.stats.reset();
    const shown = new Map(kept.map(({ threadId }) => [threadId, driver.text(threadId)]));
    const startedAt = performance.now();
    relay.start();
    await relay.untilReady();
    const readyMs = performance.now() - startedAt;
    const [one] = kept;
    if (!one) throw new Error("no thread");
    const text = `${one.name} typed after the start`;
    one.typed.push(text);
    driver.post(discord.you.id, one.threadId, text);
    await until("it to go in", () => typedLines(town, one.name).includes(text), { timeoutMs: 60_000 });
    const isShownAnew = ({ threadId }: Typed) => driver.text(threadId) !== shown.get(threadId);
    await until("each thread to show more", () => kept.every(isShownAnew), { timeoutMs: 60_000 });
    const isLookUp = ({ method }: { method: string }) => method === "GET";
    const lookUps = driver.stats.requests.filter(isLookUp);
    console.log(`six channels: ready after ${readyMs.toFixed(0)} ms, ${lookUps.length} look-ups`);
    const told = lookUps.map(({ path, status }) => `${path} ${status}`).join("\n");
    expect(lookUps.length, told).toBeLessThanOrEqual(30);

    for (const { threadId } of of(gone))
      expect(await sidecar.client.getThread(threadId)).toMatchObject({ status: "running" });
    // Once it is open again, it goes on where it was, without a restart.
    driver.denyBot([], closed);
    await untilValue(
      "no problem",
      () => rowOf(town, closed),
      (row) => row?.problem === null,
      { timeoutMs: 60_000 },
    );
    stopPrinting(town);
    await expectRight(town, [...kept, ...of(closed)]);
    expect([tellings(town, goneName), tellings(town, closedName)]).toEqual([1, 1]);
    expect(await rowOf(town, gone)).toMatchObject({ name: goneName, dir: "." });
    expect(driver.stats.maxPerSecond()).toBeLessThanOrEqual(45);
  },
  TIMEOUT_MS,
);
