/**
 * Measures the relay against local Discord with its strict limits: npm run bench:relay [-- --smoke] [-- --only NAME].
 * Prints a table and writes bench/results/relay.json.
 *
 * Relay, sidecar and local Discord (here) are processes of their own. Each line carries the time at which the
 * program printed it; it is visible when local Discord has applied the message that holds it.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Fault, randomFaults, seededRandom } from "../local-discord/faults.ts";
import { type LocalDiscord, runLocalDiscord } from "../local-discord/run.ts";
import { printed } from "../relay/content/testing/hostile.ts";
import { bundlePrograms } from "../test/support/programs.ts";
import { makeRelayProcess, type RelayProcess } from "../test/support/relay-process.ts";
import { spawnSidecar } from "../test/support/sidecar.ts";
import { findDifference, rowsOfLog, rowsShown, typedLines } from "../test/support/streaming.ts";
import { until } from "../test/support/wait.ts";
import { measureHostile } from "./hostile.ts";
import { cpuSeconds, percentile, rssMib } from "./measure.ts";

interface Figure {
  row: string;
  figure: string;
  value: number;
  bar: string;
  isMet: boolean;
}

interface Load {
  discord: LocalDiscord;
  sidecar: Awaited<ReturnType<typeof spawnSidecar>>;
  relay: RelayProcess;
  threadIds: string[];
  /** Milliseconds from printed to visible, by thread. */
  latencies: Map<string, number[]>;
  /** Ends all printing and waits until every thread shows its log. */
  finish: (timeoutMs?: number) => Promise<{ different: string[] }>;
}

const isSmoke = process.argv.includes("--smoke");
const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : undefined;
const pick = <T>(full: T, smoke: T): T => (isSmoke ? smoke : full);
const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));
const STAMPED = /^(\d{13}) (\d+)$/gm;

/** A line every 100 ms with the time in it, without a process for each. What is typed is recorded. */
function printer(i: number, intervalMs = 100): string {
  return [
    "exec 3<> <(:); i=0",
    `(while [ ! -e stop ]; do i=$((i+1)); t=$EPOCHREALTIME; echo "\${t:0:10}\${t:11:3} $i"; read -rt ${intervalMs / 1_000} -u 3; done; echo "that was all of it") &`,
    `exec cat >> typed-${i}`,
  ].join("\n");
}

async function withLoad<T>(commands: readonly string[], work: (load: Load) => Promise<T>): Promise<T> {
  const sidecar = await spawnSidecar({ MAX_THREADS: "200", LOG_LEVEL: "info" });
  // Only the time between two logins is not Discord's: the relay is restarted again and again.
  const discord = await runLocalDiscord({ port: 0, limits: { identify: { windowMs: 0, total: 10_000 } } });
  const you = discord.you.id;
  const relay = makeRelayProcess(
    program,
    {
      vmUrl: sidecar.url,
      vmToken: sidecar.token,
      discordToken: discord.botToken,
      discordApiUrl: discord.apiUrl,
      channelId: discord.channelId,
      allowedUserIds: new Set([you]),
      pollIntervalMs: 1_000,
      isAnsi: false,
      logLevel: "info",
    },
    sidecar.folders.home,
  );
  try {
    const threadIds: string[] = [];
    for (const [i, command] of commands.entries()) {
      const { id } = discord.driver.createThread(you, `thread ${i}`);
      await sidecar.client.createThread({
        threadId: id,
        type: "terminal",
        dir: ".",
        command,
        createdBy: you,
      });
      threadIds.push(id);
    }
    relay.start();
    await relay.untilReady();
    const latencies = watchLatencies(discord);
    const finish = async (timeoutMs = 60_000) => {
      writeFileSync(join(sidecar.reposDir, "stop"), "");
      const everything = { sidecar, discord };
      let different: string[] = [];
      const look = async () => {
        different = [];
        for (const threadId of threadIds) {
          const log = await rowsOfLog(everything, threadId);
          const difference = findDifference(rowsShown(everything, threadId), log);
          if (difference !== undefined) different.push(`${threadId}: ${difference}`);
          if (!log.includes("that was all of it")) different.push(`${threadId}: still printing`);
        }
        return different.length === 0;
      };
      await until("equal texts", look, { timeoutMs, intervalMs: 500 }).catch(() => undefined);
      return { different };
    };
    return await work({ discord, sidecar, relay, threadIds, latencies, finish });
  } finally {
    await relay.stop();
    await discord.close();
    await sidecar.close();
  }
}

/** Every stamped line, the first time that a message with it is applied. */
function watchLatencies(discord: LocalDiscord): Map<string, number[]> {
  const latencies = new Map<string, number[]>();
  const newest = new Map<string, number>();
  discord.driver.onEvent((event) => {
    if (event.type !== "message-create" && event.type !== "message-update") return;
    const now = Date.now();
    const { channel_id: threadId, content } = event.message;
    for (const [, stamp, number] of content.matchAll(STAMPED)) {
      if (Number(number) <= (newest.get(threadId) ?? 0)) continue;
      newest.set(threadId, Number(number));
      const list = latencies.get(threadId) ?? [];
      if (list.length === 0) latencies.set(threadId, list);
      list.push(now - Number(stamp));
    }
  });
  return latencies;
}

function overall(latencies: Map<string, number[]>, percent: number): number {
  return percentile(
    [...latencies.values()].flat().sort((a, b) => a - b),
    percent,
  );
}

const atMost = (row: string, figure: string, value: number, limit: number): Figure => ({
  row,
  figure,
  value,
  bar: `≤ ${limit}`,
  isMet: value <= limit,
});

const requests = (row: string, { discord }: Load): Figure[] => [
  atMost(row, "429 answers", discord.driver.stats.rateLimited, 0),
  atMost(row, "most requests in a second", discord.driver.stats.maxPerSecond(), 45),
];

const equality = (row: string, different: readonly string[]): Figure => {
  for (const difference of different.slice(0, 5)) console.error(`${row}: ${difference}`);
  return atMost(row, "threads whose text differs", different.length, 0);
};

/**
 * From here on only: what came before the relay had found its threads is no streaming.
 * @returns how much of a core the relay took, in percent.
 */
async function stream({ discord, latencies, relay }: Load, seconds: number): Promise<number> {
  await until("the first lines", () => latencies.size > 0, { timeoutMs: 30_000 });
  await sleep(pick(3_000, 500));
  latencies.clear();
  discord.driver.stats.reset();
  const before = cpuSeconds([relay.pid()]);
  await sleep(seconds * 1_000);
  return (100 * (cpuSeconds([relay.pid()]) - before)) / seconds;
}

const told = (row: string, figure: string, value: number): Figure => ({
  row,
  figure,
  value,
  bar: "",
  isMet: true,
});

const tenThreads = async (): Promise<Figure[]> => {
  const row = "10 threads";
  const commands = Array.from({ length: 10 }, (_, i) => printer(i));
  return withLoad(commands, async (load) => {
    const cpu = await stream(load, pick(60, 3));
    const p50 = overall(load.latencies, 50);
    const p95 = overall(load.latencies, 95);
    const { different } = await load.finish();
    return [
      atMost(row, "p50, ms", p50, 1_300),
      atMost(row, "p95, ms", p95, 2_500),
      told(row, "the relay's CPU, %", cpu),
      ...requests(row, load),
      equality(row, different),
    ];
  });
};

const sixtyThreads = async (): Promise<Figure[]> => {
  const row = `${pick(60, 20)} threads`;
  const commands = Array.from({ length: pick(60, 20) }, (_, i) => printer(i));
  return withLoad(commands, async (load) => {
    const cpu = await stream(load, pick(60, 3));
    const worst = [...load.latencies.values()]
      .map((list) =>
        percentile(
          [...list].sort((a, b) => a - b),
          95,
        ),
      )
      .sort((a, b) => a - b);
    const p50 = overall(load.latencies, 50);
    const { different } = await load.finish();
    return [
      told(row, "p50, ms", p50),
      told(row, "median thread's p95, ms", percentile(worst, 50)),
      told(row, "the relay's CPU, %", cpu),
      atMost(row, "worst p95 : median thread's", (worst.at(-1) ?? 0) / percentile(worst, 50), 1.5),
      ...requests(row, load),
      equality(row, different),
    ];
  });
};

/** A flood beside so many other threads, which print a line ten times a second. */
const floodBeside = async (others: number, megabytes: number): Promise<Figure[]> => {
  const row = `${megabytes} MB flood ${others === 0 ? "alone" : `beside ${others}`}`;
  const bytes = pick(megabytes, 3) * 1024 * 1024;
  const gate = "while [ ! -e flood ]; do sleep 0.1; done";
  const command = `${gate}; seq -f 'flood %.0f' 100000000 | head -c ${bytes}; echo; echo "that was all of it"; touch flooded; exec cat`;
  return withLoad([...Array.from({ length: others }, (_, i) => printer(i)), command], async (load) => {
    const { discord, sidecar, threadIds, latencies } = load;
    const flooded = threadIds.at(-1) ?? "";
    if (others > 0) await stream(load, pick(5, 2));
    latencies.clear();
    const before = discord.driver.messages(flooded).length;
    const cpu = cpuSeconds([load.relay.pid()]);
    const startedAt = performance.now();
    writeFileSync(join(sidecar.reposDir, "flood"), "");
    await until("the flood to be printed", () => existsSync(join(sidecar.reposDir, "flooded")), {
      timeoutMs: 120_000,
    });
    const endedAt = performance.now();
    // As a page: while the flood goes on, its gap shows the newest lines as well.
    const findEnd = () =>
      discord.driver
        .messages(flooded)
        .findIndex(({ content }) => content.startsWith("```") && content.includes("that was all of it"));
    await discord.driver.until(() => findEnd() >= 0, { what: "the flood's end", timeoutMs: 120_000 });
    const used = findEnd() - before;
    const shownMs = performance.now() - endedAt;
    const floodCpu = cpuSeconds([load.relay.pid()]) - cpu;
    await sleep(pick(20_000, 1_000));
    const p50 = overall(latencies, 50);
    const p95 = overall(latencies, 95);
    const { different } = await load.finish();
    return [
      ...(others === 0
        ? []
        : [
            atMost(row, "p50 of the others, ms", p50, 1_690),
            atMost(row, "p95 of the others, ms", p95, 3_250),
          ]),
      atMost(row, "end shown after, ms", shownMs, 5_000),
      told(row, "printed in, ms", endedAt - startedAt),
      told(row, "the relay's CPU for it, s", floodCpu),
      atMost(row, "messages before the end", used, 7),
      ...requests(row, load),
      equality(row, different),
    ];
  });
};

/** The worst of many generated programs, again and again, on the largest screen. */
const hostile = async (): Promise<Figure[]> => {
  const row = `worst of ${pick(1_000, 20)} programs`;
  const {
    holdMs,
    holdCpuMs,
    cpuSeconds: cpu,
    worst,
  } = await measureHostile(pick(1_000, 20), pick(20_000, 4_000));
  const command = "while [ ! -e hostile ]; do sleep 0.1; done; while :; do cat hostile; done";
  const beside = `${row} beside 9`;
  return withLoad([...Array.from({ length: 9 }, (_, i) => printer(i)), command], async (load) => {
    const { sidecar, threadIds, latencies } = load;
    // Its text is no one's to compare.
    const id = threadIds.pop() ?? "";
    await sidecar.client.resizeThread(id, { cols: 500, rows: 200 });
    const seconds = pick(40, 3);
    await stream(load, seconds);
    const quiet = overall(latencies, 95);
    const text = worst.map((program) => printed(program, 100_000)).join("");
    writeFileSync(join(sidecar.reposDir, "hostile"), text);
    const used = await stream(load, seconds);
    const p95 = overall(latencies, 95);
    const { different } = await load.finish();
    return [
      atMost(row, "event loop held, ms", holdMs, 50),
      told(row, "in CPU time, ms", holdCpuMs),
      atMost(row, "CPU for 100 KB, s", cpu, 1.5),
      told(beside, "p95 of the 9 before, ms", quiet),
      atMost(beside, "p95 of the 9 : before", p95 / quiet, 1.5),
      told(beside, "the relay's CPU, %", used),
      ...requests(beside, load),
      equality(beside, different),
    ];
  });
};

/** A person writes a line here and there; returns what each thread was told, once they stop. */
function startTyping({ discord, threadIds }: Load): () => Promise<string[][]> {
  const random = seededRandom(SEED + 1);
  const stop = new AbortController();
  const typed: string[][] = threadIds.map(() => []);
  const typing = (async () => {
    for (let count = 1; !stop.signal.aborted; count++) {
      const i = Math.floor(random() * threadIds.length);
      typed[i]?.push(`typed ${count}`);
      discord.driver.post(discord.you.id, threadIds[i] ?? "", `typed ${count}`);
      await sleep(200 + random() * 800);
    }
  })();
  return async () => {
    stop.abort();
    await typing;
    return typed;
  };
}

async function verdict(row: string, load: Load, typed: string[][]): Promise<Figure[]> {
  const { different } = await load.finish(120_000);
  const isTyped = (lines: string[], i: number) =>
    JSON.stringify(typedLines(load, String(i))) === JSON.stringify(lines);
  const wrong = typed.filter((lines, i) => !isTyped(lines, i)).length;
  const { stats } = load.discord.driver;
  return [
    equality(row, different),
    atMost(row, "threads where typed lines differ", wrong, 0),
    atMost(row, "most requests in a second", stats.maxPerSecond(), 45),
    told(row, "429 answers", stats.rateLimited),
  ];
}

const kills = async (): Promise<Figure[]> => {
  const count = pick(200, 2);
  const row = `${count} × kill -9`;
  return withLoad(
    Array.from({ length: 10 }, (_, i) => printer(i)),
    async (load) => {
      const random = seededRandom(SEED);
      const stopTyping = startTyping(load);
      for (let kill = 0; kill < count; kill++) {
        if (random() < 0.7) await load.relay.untilReady();
        await sleep(random() * 2_000);
        await load.relay.kill9();
        load.relay.start();
      }
      return verdict(row, load, await stopTyping());
    },
  );
};

const FAULTS: Fault[] = [
  { kind: "status", status: 503 },
  { kind: "status", status: 502, isHtml: true },
  { kind: "stall", isApplied: false },
  { kind: "stall", isApplied: true },
  { kind: "stall-body" },
  { kind: "drop", how: "rst", isApplied: true },
  { kind: "drop", how: "fin", isApplied: true },
];

const faults = async (): Promise<Figure[]> => {
  const row = "5 % faults, gateway drops";
  return withLoad(
    Array.from({ length: 10 }, (_, i) => printer(i)),
    async (load) => {
      const { driver } = load.discord;
      const stopTyping = startTyping(load);
      driver.faults.rest = randomFaults({ seed: SEED, probability: 0.05, faults: FAULTS });
      for (let i = 0; i < 12; i++) {
        if (i % 3 === 2) driver.gateway.closeAll(1000);
        else driver.gateway.dropAll();
        await sleep(10_000);
      }
      driver.faults.rest = undefined;
      return verdict(row, load, await stopTyping());
    },
  );
};

const restart = async (): Promise<Figure[]> => {
  const count = pick(100, 10);
  const row = `restart, ${count} threads`;
  return withLoad(
    Array.from({ length: count }, (_, i) => printer(i, 1_000)),
    async (load) => {
      const { discord, relay, threadIds, latencies } = load;
      const { driver } = discord;
      await driver.until(() => latencies.size === count, { what: "all to stream", timeoutMs: 60_000 });
      await sleep(pick(5_000, 2_000));
      await relay.kill9();
      driver.stats.reset();
      const startedAt = Date.now();
      const first = new Map<string, number>();
      const stop = driver.onEvent((event) => {
        if (event.type !== "message-create" && event.type !== "message-update") return;
        const { channel_id: threadId, content } = event.message;
        const stamps = [...content.matchAll(STAMPED)].map(([, stamp]) => Number(stamp));
        if (!first.has(threadId) && Math.max(...stamps) > startedAt) first.set(threadId, Date.now());
      });
      relay.start();
      await driver.until(() => first.size === threadIds.length, { what: "all to stream", timeoutMs: 60_000 });
      stop();
      const seconds = (Math.max(...first.values()) - startedAt) / 1_000;
      const lookUps = driver.stats.requests.filter(({ method }) => method === "GET").length;
      return [
        atMost(row, "all streaming after, s", seconds, 5),
        atMost(row, "requests to look up", lookUps, 20),
        ...requests(row, load),
      ];
    },
  );
};

const memory = async (): Promise<Figure[]> => {
  const count = pick(100, 5);
  const row = `memory, ${count} threads`;
  const bytes = 2 * 1024 * 1024;
  const command = `seq -f 'line %.0f of the output of this thread' 100000000 | head -c ${bytes}; echo; echo "that was all of it"; exec cat`;
  return withLoad(
    Array.from({ length: count }, () => command),
    async (load) => {
      const { relay } = load;
      let peak = 0;
      const sampling = setInterval(() => {
        peak = Math.max(peak, rssMib(relay.pid()));
      }, 200);
      const { different } = await load.finish(180_000);
      await sleep(pick(5_000, 500));
      clearInterval(sampling);
      return [
        atMost(row, "MiB at the end", rssMib(relay.pid()), 220),
        told(row, "MiB at most", peak),
        equality(row, different),
      ];
    },
  );
};

const flood = async (): Promise<Figure[]> => [
  ...(await floodBeside(9, 50)),
  ...(await floodBeside(0, 50)),
  ...(await floodBeside(0, 4)),
];

const all = { ten: tenThreads, sixty: sixtyThreads, flood, hostile, kills, faults, restart, memory };
/** Under a minute; kills and faults have short forms of their own among the tests. */
const smoke = ["ten", "sixty", "flood", "hostile", "restart", "memory"];

await bundlePrograms();
/** As people run it: `npm run bench:relay` has built it. */
const program = { file: fileURLToPath(new URL("../dist/relay/main.js", import.meta.url)) };
const figures: Figure[] = [];
for (const [name, measure] of Object.entries(all)) {
  if (only === undefined ? isSmoke && !smoke.includes(name) : name !== only) continue;
  for (const figure of await measure()) {
    figures.push(figure);
    const { row, value, bar, isMet } = figure;
    const shown = Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 0);
    const met = bar === "" ? "" : isMet ? "met" : "MISSED";
    console.log(
      `${row.padEnd(28)} ${figure.figure.padEnd(34)} ${shown.padStart(8)}  ${bar.padEnd(8)} ${met}`,
    );
  }
}
mkdirSync(new URL("./results/", import.meta.url), { recursive: true });
const file = new URL("./results/relay.json", import.meta.url);
const report = { at: new Date().toISOString(), node: process.version, isSmoke, seed: SEED, figures };
writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
const missed = figures.filter(({ isMet }) => !isMet);
console.log(missed.length === 0 ? "all bars are met" : `${missed.length} bars are missed; seed ${SEED}`);
// A smoke run is too short to be judged by its times; that every text is right holds in it too.
const isWrong = (isSmoke ? missed.filter(({ figure }) => figure.startsWith("threads w")) : missed).length > 0;
process.exit(isWrong ? 1 : 0);
