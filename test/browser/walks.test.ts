/**
 * Random walks over pages while Chromium, its program, tmux, sidecar and relay are killed: each thread has one message
 * with a picture, which is of the last page, and nothing is left of it. The figures are printed.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WIDE_LIMITS } from "../../local-discord/rate-limits.ts";
import { type LocalDiscord, runLocalDiscord } from "../../local-discord/run.ts";
import { seededRandom } from "../../shared/random.ts";
import { browserPids, openBrowser, START_MS, untilState } from "../support/browsers.ts";
import { inFull } from "../support/faults.ts";
import { signal } from "../support/processes.ts";
import { relayConfigFor } from "../support/relay-config.ts";
import {
  bundleRelay,
  makeRelayProcess,
  type RelayProcess,
  type RelayProgram,
} from "../support/relay-process.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";
import { type Site, startSite } from "../support/site.ts";
import { until } from "../support/wait.ts";

const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));
const GROUPS = inFull(5, 1);
/** Each part is killed as often. */
const WALKS = inFull(10, 5);
const STEPS = inFull(6, 2);
const TIMEOUT_MS = 30 * 60_000;
const MiB = 1024 * 1024;
/** The budget of each thread's memory, in bytes. */
const BUDGET = 1024 * MiB;

let program: RelayProgram;
let sidecar: SpawnedSidecar;
let discord: LocalDiscord;
let relay: RelayProcess;
let site: Site;

beforeAll(async () => {
  console.log(`walks: SEED=${SEED}`);
  program = await bundleRelay();
  site = await startSite();
  sidecar = await spawnSidecar({ BROWSER_HOSTS: site.host, THREAD_MEMORY: String(BUDGET) });
  discord = await runLocalDiscord({
    port: 0,
    limits: { ...WIDE_LIMITS, identify: { windowMs: 0, total: 10_000 } },
  });
  const config = { ...relayConfigFor(sidecar, discord), pollIntervalMs: 100 };
  relay = makeRelayProcess(program, config, sidecar.folders.home);
  relay.start();
  await relay.untilReady();
}, START_MS);
afterAll(async () => {
  await relay?.stop();
  await discord?.close();
  await sidecar?.close();
  await site?.close();
  program?.remove();
}, START_MS);

function kill(pids: readonly number[]): void {
  for (const pid of pids) signal(pid, "SIGKILL");
}

const KILLS = {
  Chromium: async () => kill(browserPids(sidecar, "chromium")),
  "its program": async () => kill(browserPids(sidecar, "program")),
  tmux: async () => kill([sidecar.folders.tmuxPid()]),
  sidecar: async () => {
    await sidecar.kill9();
    await sidecar.start();
  },
  relay: async () => {
    await relay.kill9();
    relay.start();
    await relay.untilReady();
  },
} as const;
const PARTS = Object.keys(KILLS) as (keyof typeof KILLS)[];

/** In proportion: what several processes share counts once. */
function takenBytes(): number {
  const kib = browserPids(sidecar, "any").map((pid) => {
    try {
      return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0);
    } catch {
      return 0; // it has ended
    }
  });
  return kib.reduce((sum, one) => sum + one, 0) * 1024;
}

/** The thread's first message has no small print. */
const pictures = (threadId: string) =>
  discord.driver
    .messages(threadId)
    .filter(({ author, content }) => author.isBot && /^🌐[\s\S]*\n-# /.test(content));

function press(threadId: string, label: string): void {
  const message = pictures(threadId).at(-1);
  const button = message?.buttons.find((one) => one.label === label);
  if (message && button) discord.driver.press(discord.you.id, message.id, button.customId ?? "");
}

async function open(): Promise<string> {
  const { you, channelId, driver } = discord;
  const { content } = await driver.command(you.id, channelId, "browser", { url: site.at("/") }).reply();
  const threadId = /<#(\d+)>/.exec(content)?.[1];
  if (threadId === undefined) throw new Error(content);
  return threadId;
}

const untilPicture = (threadId: string, path: string) =>
  until(
    `the picture of ${path}, not ${JSON.stringify(pictures(threadId).map(({ content }) => content))}`,
    () => {
      const [message] = pictures(threadId);
      const isThere = message?.content.includes(`\`${site.at(path)}\``) && message.attachments.length === 1;
      return isThere && !/loading…|starting…/.test(message?.content ?? "");
    },
    { timeoutMs: START_MS },
  );

async function walk(random: () => number, part: keyof typeof KILLS): Promise<{ bytes: number; ms: number }> {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const say = (threadId: string, text: string) => void discord.driver.post(discord.you.id, threadId, text);
  const startedAt = performance.now();
  const threadId = await open();
  await untilPicture(threadId, "/");
  let bytes = takenBytes();
  const killAt = Math.floor(random() * STEPS);
  for (let step = 0; step < STEPS; step++) {
    const how = pick(["press", "press", "open", "click", "type"]);
    if (how === "press") press(threadId, pick(["▲", "▼", "Reload", "← Back", "Look"]));
    else if (how === "open") say(threadId, site.at(pick(["/", "/wide", "/about", "/windows", "/close"])));
    else say(threadId, how === "click" ? pick(["1", "2", "5"]) : pick(["3 shoes", "words"]));
    if (step === killAt) await KILLS[part]();
    bytes = Math.max(bytes, takenBytes());
  }
  const last = `/about?walk=${threadId}`;
  say(threadId, site.at(last));
  await untilPicture(threadId, last);
  bytes = Math.max(bytes, takenBytes());
  expect(pictures(threadId).length, part).toBe(1);
  const { budget } = await sidecar.client.getThread(threadId);
  // The kernel has ended no process of it. Without control groups nothing holds it, and what was counted says so.
  if (budget?.memory) expect(budget.memory, part).toMatchObject({ limit: BUDGET, hits: 0 });
  await until("it to end", () => {
    press(threadId, "Done");
    return sidecar.client.getThread(threadId).then(({ status }) => status !== "running");
  });
  await until("its processes to end", () => browserPids(sidecar, "any").length === 0);
  await until("the message to say so", () =>
    pictures(threadId)[0]?.content.includes("the browser has ended"),
  );
  expect(pictures(threadId).length, part).toBe(1);
  return { bytes, ms: performance.now() - startedAt };
}

test.each(Array.from({ length: GROUPS }, (_, group) => group))(
  `${WALKS} walks, group %i: one picture message a thread, no process left`,
  async (group) => {
    const random = seededRandom(SEED + group);
    const walks: { bytes: number; ms: number }[] = [];
    for (let count = 0; count < WALKS; count++)
      walks.push(await walk(random, PARTS[count % PARTS.length] ?? "relay"));
    const bytes = Math.max(...walks.map((one) => one.bytes));
    const seconds = walks.map(({ ms }) => Math.round(ms / 1_000)).join(", ");
    console.log(`group ${group}: ${Math.round(bytes / MiB)} MiB at most; seconds a walk: ${seconds}`);
    expect(bytes).toBeLessThan(BUDGET);
  },
  TIMEOUT_MS,
);

test(
  "a page that takes memory without an end is ended at the bound",
  async () => {
    await openBrowser(sidecar, "eats", site.at("/"));
    await sidecar.client.sendInput("eats", { text: site.at("/eat"), enter: false });
    let most = 0;
    const measure = setInterval(() => {
      most = Math.max(most, takenBytes());
    }, 50);
    const { note } = await untilState(
      sidecar,
      "eats",
      "the page's end",
      (state) => state.note?.includes("took too much memory") ?? false,
    );
    clearInterval(measure);
    const { budget } = await sidecar.client.getThread("eats");
    console.log(`eats: ${Math.round(most / MiB)} MiB at most; it says: ${note}`);
    await sidecar.client.killThread("eats");
    // The kernel's bound holds at any moment; what several processes share may be charged to another group. Without it
    // the browser looks every two seconds, and a page that takes memory fast passes its bound until then.
    expect(most).toBeLessThan((budget?.memory ? 1.25 : 3) * BUDGET);
  },
  TIMEOUT_MS,
);
