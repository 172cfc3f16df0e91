/**
 * Measures how one person's floods, and lost channels, delay other threads, against the same load before, in one run.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { atMost, equality, type Figure, requests, told } from "./figures.ts";
import { type Load, type LoadThread, overall, printer, type Row, stream, withLoad } from "./load.ts";

const OTHERS = 5;
/** The number of threads of each of the other people. */
const THREADS = 2;
const CHANNELS = 6;

/** Measures the 95th percentile of these threads' latencies, in milliseconds. */
async function p95Of(load: Load, threadIds: readonly string[], seconds: number, settleMs: number) {
  await stream(load, seconds, settleMs);
  const ofThem = [...load.latencies].filter(([id]) => threadIds.includes(id));
  return overall(new Map(ofThem), 95);
}

/**
 * Forty programs of one person print without end. Beside them, five people have two threads each, which print ten lines
 * a second.
 */
export const floods: Row = async ({ pick }) => {
  const count = pick(40, 8);
  const row = `${count} floods of one person`;
  const others = Array.from({ length: OTHERS * THREADS }, (_, i): LoadThread => {
    return { command: printer(i), person: 1 + (i % OTHERS) };
  });
  const flood =
    "while [ ! -e flood ]; do sleep 0.2; done; while [ -e flood ]; do seq 1 200; sleep 0.1; done; exec cat";
  const commands = [...others, ...Array.from({ length: count }, () => ({ command: flood }))];
  return withLoad(
    commands,
    async (load) => {
      const { sidecar, threadIds } = load;
      // The floods are not compared, because the relay leaves out part of their output.
      threadIds.splice(others.length);
      const settleMs = pick(5_000, 500);
      const quiet = await p95Of(load, threadIds, pick(60, 3), settleMs);
      const file = join(sidecar.reposDir, "flood");
      writeFileSync(file, "");
      const beside = await p95Of(load, threadIds, pick(60, 3), settleMs);
      rmSync(file);
      const { different } = await load.finish();
      return judged(row, { quiet, beside, bar: 1.2 }, load, different);
    },
    { people: 1 + OTHERS },
  );
};

/** Six channels with ten threads each; one is deleted and one closed to the bot. */
export const lostChannels: Row = async ({ pick }) => {
  const perChannel = pick(10, 2);
  const row = `6 channels × ${perChannel} threads`;
  const commands = Array.from({ length: CHANNELS * perChannel }, (_, i): LoadThread => {
    return { command: printer(i, 1_000), channel: i % CHANNELS };
  });
  return withLoad(
    commands,
    async (load) => {
      const { discord, relay, threadIds, channelIds } = load;
      const { driver } = discord;
      const kept = threadIds.filter((_, i) => i % CHANNELS < CHANNELS - 2);
      const settleMs = pick(5_000, 500);
      const quiet = await p95Of(load, kept, pick(60, 3), settleMs);
      const [closed = "", gone = ""] = channelIds.slice(-2);
      driver.deleteChannel(gone);
      driver.denyBot(["sendMessages", "sendMessagesInThreads"], closed);
      const beside = await p95Of(load, kept, pick(60, 3), settleMs);
      await relay.kill9();
      driver.stats.reset();
      const startedAt = performance.now();
      relay.start();
      await relay.untilReady();
      const seconds = (performance.now() - startedAt) / 1_000;
      load.latencies.clear();
      const isBack = () => kept.every((id) => load.latencies.has(id));
      await driver.until(isBack, { what: "all to stream again", timeoutMs: 60_000 });
      const lookUps = driver.stats.requests.filter(({ method }) => method === "GET").length;
      threadIds.splice(0, threadIds.length, ...kept);
      const { different } = await load.finish();
      return [
        ...judged(row, { quiet, beside, bar: 1.1 }, load, different),
        atMost(row, "ready after a restart, s", seconds, 4),
        atMost(row, "requests to look up", lookUps, 30),
      ];
    },
    { channels: CHANNELS },
  );
};

function judged(
  row: string,
  { quiet, beside, bar }: { quiet: number; beside: number; bar: number },
  load: Load,
  different: readonly string[],
): Figure[] {
  return [
    told(row, "p95 of the others before, ms", quiet),
    told(row, "p95 of the others beside it, ms", beside),
    atMost(row, "beside it : before", beside / quiet, bar),
    ...requests(row, load),
    equality(row, different),
  ];
}
