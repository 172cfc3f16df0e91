/** Measures jobs: each run begins once, whatever is killed, and on time; jobs that have nothing to do cost nothing. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import type { JobRequest } from "../../shared/jobs/job.ts";
import { OWNER } from "../../shared/principal.ts";
import { inFull, isFull } from "../support/faults.ts";
import { type JobsWorld, MINUTE, makeJobsWorld, NOW } from "../support/jobs.ts";
import { Killer } from "../support/jobs-killer.ts";

let world: JobsWorld;
afterEach(() => world.close());

/** Makes a seeded source of random numbers, which are the same in each run. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state % below;
  };
}

function say(name: string, figures: object): void {
  if (isFull) console.log(`${name}: ${JSON.stringify(figures)}`);
}

const MINUTELY = { type: "every" as const, seconds: 60 };
const SECRET = "a-secret-that-nobody-knows";

/** Works until nothing is left to do for the requests that have come. */
async function settle(): Promise<void> {
  for (const name of world.store.hookRequests.listHooks()) world.feed.wake(name);
  await world.feed.idle();
  await world.pass(1);
  await world.pass(1);
}

test("due instants and requests, with a kill in each: one row each, started once and never twice", {
  timeout: inFull(900_000, 60_000),
}, async () => {
  const rounds = inFull(500, 25);
  world = makeJobsWorld({ hasDoor: true });
  const random = chance(7);
  await world.open("target");
  const add = (name: string, when: JobRequest["when"], what: JobRequest["what"]) =>
    world.add({ name, when, what, overlap: "allow", missed: "once" });
  const webhook = { type: "webhook" as const, proof: { preset: "github" as const }, secret: SECRET };
  await add("term", MINUTELY, { type: "terminal", dir: "shop", command: "make" });
  await add("input", MINUTELY, { type: "input", threadId: "target", text: "hi" });
  await add("shell", MINUTELY, { type: "command", dir: "shop", command: "echo $THREADMUX_JOB_RUN >>log" });
  await add("hook", webhook, { type: "terminal", dir: "shop", command: "make" });
  await add(
    "events",
    { type: "event", events: ["thread_removed"], everySeconds: 1 },
    {
      type: "terminal",
      dir: "shop",
      command: "make",
    },
  );
  let kills = 0;
  for (let round = 0; round < rounds; round++) {
    await world.open(`gone-${round}`);
    world.store.threads.delete(`gone-${round}` as never);
    const killer = new Killer(1 + random(24), random(2) === 1);
    await world.reopen((store) => killer.wrap(store));
    const deliver = () => {
      const request = {
        hook: "hook",
        deliveryId: `d${round}`,
        receivedAt: world.nowMs,
        knownUntil: world.nowMs + 1e9,
      };
      world.store.hookRequests.keep([
        { ...request, groupKey: "", outcome: "taken", body: Buffer.from("{}") },
      ]);
    };
    for (let times = random(3); times >= 0; times--) deliver();
    await world.pass(MINUTE - 2).catch(() => undefined);
    await dying(() => world.events.settle());
    world.nowMs += 2_000;
    await dying(() => settle());
    if (killer.isDead) kills += 1;
    await world.reopen();
    deliver();
    world.events.settle();
    await settle();
    world.nowMs -= 2_000;
    for (const run of world.store.threads.list("open").map(({ threadId }) => threadId))
      if (run !== "target") await world.end(run);
  }
  const all = ["term", "input", "shell", "hook", "events"].map((name) => world.runs(name).length);
  const runs = ["term", "input", "shell", "hook", "events"].flatMap((name) =>
    world.store.jobRuns.list(world.store.jobs.find(name)?.jobId ?? 0, 100_000),
  );
  const log = readFileSync(join(world.folder, "shop", "log"), "utf8")
    .trim()
    .split("\n");
  const started = [...world.begun.filter((name) => /^(term|input|hook|events)-/.test(name)), ...log];
  expect(new Set(started).size).toBe(started.length); // none twice
  const unknown = runs.filter(({ status }) => status === "unknown");
  const once = started.length / runs.length;
  say("once", { rounds, kills, rows: all, started: started.length, unknown: unknown.length, once });
  expect(kills).toBeGreaterThan(rounds / 2);
  expect(runs.filter(({ run }) => run.startsWith("hook-"))).toHaveLength(rounds);
  expect(runs.filter(({ status }) => ["claimed", "failed", "missed"].includes(status))).toEqual([]);
  // A terminal or a command that may have begun is not begun again.
  expect(unknown.every(({ run }) => /^(term|shell|hook|events)-/.test(run))).toBe(true);
  expect(once + unknown.length / runs.length).toBeGreaterThanOrEqual(0.99);
});

async function dying(work: () => Promise<void> | void): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Error) || error.message !== "killed") throw error;
  }
}

test("a thousand jobs in one minute are claimed at once, and ten thousand that are not due cost nothing", async () => {
  const [due, idle] = [inFull(1_000, 100), inFull(10_000, 500)];
  world = makeJobsWorld({ maxJobs: due + idle + 10 });
  const row = { createdBy: OWNER, createdAt: NOW, state: "active" as const, why: null, period: MINUTE };
  const { settings } = await seed();
  world.store.transaction(() => {
    for (let at = 0; at < idle; at++)
      world.store.jobs.insert({
        ...row,
        settings: { ...settings, name: `idle-${at}` },
        nextDue: NOW + 1e9,
        period: 1e9,
      });
  });
  const looks = 60; // one a minute for an hour
  const before = process.cpuUsage();
  for (let at = 0; at < looks; at++) world.scheduler.look();
  const { user, system } = process.cpuUsage(before);
  const idleShare = (user + system) / 1e6 / (looks * 60);
  world.store.transaction(() => {
    for (let at = 0; at < due; at++)
      world.store.jobs.insert({
        ...row,
        settings: { ...settings, name: `due-${at}` },
        nextDue: NOW + MINUTE,
      });
  });
  world.nowMs = NOW + MINUTE;
  const since = performance.now();
  world.scheduler.look();
  // The due jobs are claimed in several batches, and other work has its turn in between.
  for (let first = world.store.jobs.firstDue(); first !== null && first <= world.nowMs; ) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    first = world.store.jobs.firstDue();
  }
  const lastMs = Math.round(performance.now() - since);
  say("lateness", { due, lastMs, idle, idleShareOfACore: Number(idleShare.toFixed(6)) });
  expect(world.store.jobs.listDue(world.nowMs, 10)).toEqual([]);
  expect(idleShare).toBeLessThan(0.001);
});

test("many jobs that are due at many instants have one timer, and it fires within a minute", async () => {
  world = makeJobsWorld();
  for (let at = 0; at < 60; at++)
    await world.add({ name: `job-${at}`, when: { type: "every", seconds: 3_600 + at } });
  const planned = new Map<NodeJS.Timeout, number>();
  const [set, clear] = [globalThis.setTimeout, globalThis.clearTimeout];
  vi.stubGlobal("setTimeout", (work: () => void, ms: number) => {
    const timer = set(work, ms);
    planned.set(timer, ms);
    return timer;
  });
  vi.stubGlobal("clearTimeout", (timer: NodeJS.Timeout) => {
    planned.delete(timer);
    clear(timer);
  });
  try {
    for (let look = 0; look < 30; look++) await world.pass(1_000);
    expect([...planned.values()]).toEqual([MINUTE]);
  } finally {
    vi.unstubAllGlobals();
  }
});

async function seed() {
  await world.add({ name: "seed", paused: true });
  const found = world.store.jobs.find("seed");
  if (!found) throw new Error("the job is not there");
  return found;
}

test("ticks over an empty HEARTBEAT.md start no process and ask nobody", async () => {
  const ticks = inFull(10_000, 100);
  world = makeJobsWorld();
  writeFileSync(join(world.folder, "shop", "HEARTBEAT.md"), "# Heartbeat\n\n## Later\n\n");
  const what = { type: "agent" as const, dir: "shop", prompt: "look", thread: "one" as const };
  await world.add({ name: "pulse", when: { ...MINUTELY }, what, heartbeat: true });
  for (let at = 0; at < ticks; at++) await world.pass(MINUTE);
  expect(world.begun).toEqual([]);
  const counts = world.store.jobRuns.counts(world.store.jobs.find("pulse")?.jobId ?? 0);
  say("heartbeat", { ticks, counts });
  expect(Object.keys(counts)).toEqual(["skipped"]);
  expect(counts.skipped).toBe(Math.min(ticks, 2_000));
});
