/**
 * Jobs beside a clock that jumps, a night on which the clocks change, a sidecar that stands still, and a full disk: each
 * due instant has one row, and begins once.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import type { JobRequest } from "../../shared/jobs/job.ts";
import { pause } from "../../shared/lifecycle.ts";
import { seededRandom } from "../../shared/random.ts";
import { signRequest } from "../../vm/hooks/proof.ts";
import { inFull } from "../support/faults.ts";
import { HOUR, type JobsWorld, MINUTE, makeJobsWorld } from "../support/jobs.ts";
import { Killer } from "../support/jobs-killer.ts";
import { signal } from "../support/processes.ts";
import { makeSidecarFolders, spawnSidecar, startSidecar } from "../support/sidecar.ts";
import { canMount, mountDisk } from "../support/small-disk.ts";
import { until, untilValue } from "../support/wait.ts";

const SECRET = "a-secret-that-nobody-knows";
const PROOF = { preset: "github" as const };
/** How long a sidecar is stopped, by the real clock, in milliseconds. */
const STOPPED_MS = inFull(70_000, 3_000);

describe("with kills", () => {
  let world: JobsWorld;
  afterEach(() => world.close());

  const input = { type: "input" as const, threadId: "target", text: "hi" };
  const add = (when: JobRequest["when"]) =>
    world.add({ name: "job", when, what: input, overlap: "allow", missed: "once" });

  /** The clock moves, and the sidecar may die while it looks; the next one looks at the same time. */
  async function move(ms: number, random: () => number): Promise<void> {
    const killer = new Killer(1 + Math.floor(random() * 8), random() < 0.5);
    await world.reopen((store) => killer.wrap(store));
    await world.pass(ms).catch(() => undefined);
    await world.reopen();
    await world.pass(0);
  }

  const begun = () => world.begun.filter((name) => name !== "target");

  /** From an hour on, each hour. */
  const hours = (from: string, count: number) =>
    Array.from({ length: count }, (_, at) => new Date(Date.parse(from) + at * HOUR).toISOString());

  test.each([
    // 02:00 to 03:00 is not there in Berlin on 28 March, and comes twice on 31 October.
    [
      "30 2 * * *",
      "Europe/Berlin",
      "2027-03-27T21:00Z",
      ["2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"],
    ],
    ["0 * * * *", "Europe/Berlin", "2027-03-27T21:00Z", hours("2027-03-27T22:00Z", 36)],
    [
      "30 2 * * *",
      "Europe/Berlin",
      "2027-10-30T21:00Z",
      ["2027-10-31T00:30:00.000Z", "2027-11-01T01:30:00.000Z"],
    ],
    ["0 * * * *", "Europe/Berlin", "2027-10-30T21:00Z", hours("2027-10-30T22:00Z", 36)],
    // The same in New York on 14 March, and from 01:00 to 02:00 on 7 November.
    [
      "30 2 * * *",
      "America/New_York",
      "2027-03-14T03:00Z",
      ["2027-03-14T07:00:00.000Z", "2027-03-15T06:30:00.000Z"],
    ],
    ["0 * * * *", "America/New_York", "2027-03-14T03:00Z", hours("2027-03-14T04:00Z", 36)],
    [
      "30 1 * * *",
      "America/New_York",
      "2027-11-07T03:00Z",
      ["2027-11-07T05:30:00.000Z", "2027-11-08T06:30:00.000Z"],
    ],
    ["0 * * * *", "America/New_York", "2027-11-07T03:00Z", hours("2027-11-07T04:00Z", 36)],
  ])("%s in %s from %s on", async (cron, zone, from, dues) => {
    world = makeJobsWorld();
    world.nowMs = Date.parse(from);
    await world.open("target");
    await add({ type: "cron", cron, zone });
    const random = seededRandom(3);
    const stepMs = inFull(10, 60) * MINUTE;
    const last = Date.parse(from) + inFull(36, 7) * HOUR;
    while (world.nowMs < last) await move(Math.min(stepMs, last - world.nowMs), random);
    const expected = dues.filter((due) => Date.parse(due) <= last);
    expect(world.runs("job").map(({ dueAt }) => dueAt)).toEqual(expected);
    expect(begun()).toEqual(world.runs("job").map(({ run }) => run));
  });

  test("a clock that is put back an hour, ahead a day, and right again, again and again", {
    timeout: inFull(900_000, 60_000),
  }, async () => {
    world = makeJobsWorld();
    await world.open("target");
    await add({ type: "every", seconds: 60 });
    const random = seededRandom(5);
    for (let round = 0; round < inFull(200, 4); round++) {
      const wrong = random() < 0.5 ? -HOUR : 24 * HOUR;
      await move(wrong, random);
      for (let at = 0; at < 2; at++) await move(MINUTE, random);
      await move(-wrong, random);
      const before = begun().length;
      // By the right clock the next run comes within one period, or was there when the clock was wrong.
      const dues = new Set(world.runs("job").map(({ dueAt }) => dueAt));
      await move(MINUTE, random);
      const due = new Date(Math.floor(world.nowMs / MINUTE) * MINUTE + (world.nowMs % MINUTE));
      expect(begun().length > before || dues.has(due.toISOString()), `round ${round}`).toBe(true);
    }
    expect(new Set(begun()).size).toBe(begun().length);
    const runs = world.runs("job").map(({ run }) => run);
    expect(new Set(runs).size).toBe(runs.length);
    expect(world.runs("job").filter(({ status }) => status === "failed")).toEqual([]);
  });
});

/** Commands that note their runs, due within so many seconds from now on. */
async function addDue(
  client: ConstructorParameters<typeof VmJobs>[0],
  seconds: readonly number[],
): Promise<string[]> {
  const jobs = new VmJobs(client);
  const names = seconds.map((_, at) => `due-${at}`);
  for (const [at, name] of names.entries()) {
    const when = { type: "at", at: new Date(Date.now() + (seconds[at] ?? 0) * 1_000).toISOString() } as const;
    const command = `echo ${name} >>log`;
    await jobs.create({ name, when, what: { type: "command", dir: "shop", command }, missed: "once" });
  }
  return names;
}

async function untilOver(client: ConstructorParameters<typeof VmJobs>[0], names: readonly string[]) {
  const statuses = async () => {
    const runs = await Promise.all(names.map((name) => new VmJobs(client).listRuns(name, 10)));
    return runs.map((all) => all.map(({ status }) => status).join(" "));
  };
  await untilValue("all to be over", statuses, (all) => all.every((one) => one === "done"), {
    timeoutMs: 60_000,
  });
}

test("a sidecar that stood still begins each once", { timeout: STOPPED_MS + 90_000 }, async () => {
  const sidecar = await spawnSidecar();
  onTestFinished(() => sidecar.close());
  mkdirSync(join(sidecar.reposDir, "shop"));
  const dues = [2, 2, 3, 4, (STOPPED_MS + 2_000) / 1_000];
  const names = await addDue(sidecar.client, dues);
  signal(sidecar.pid(), "SIGSTOP");
  await pause(STOPPED_MS);
  signal(sidecar.pid(), "SIGCONT");
  await untilOver(sidecar.client, names);
  expect(
    readFileSync(join(sidecar.reposDir, "shop", "log"), "utf8")
      .trim()
      .split("\n")
      .sort(),
  ).toEqual(names);
});

test.runIf(canMount)(
  "a full disk: the door takes nothing, and what was due begins once there is room",
  async () => {
    const folders = makeSidecarFolders();
    const disk = mountDisk(folders.stateDir, 32);
    const sidecar = await startSidecar({ hooks: { host: "127.0.0.1", port: 0 } }, { folders });
    onTestFinished(async () => {
      disk.unmount();
      await sidecar.close();
    });
    mkdirSync(join(sidecar.reposDir, "shop"));
    const jobs = new VmJobs(sidecar.client);
    await jobs.create({
      name: "hook",
      when: { type: "webhook", proof: PROOF, secret: SECRET },
      what: { type: "command", dir: "shop", command: "echo hook >>log" },
    });
    const body = Buffer.from(JSON.stringify({ log: "x".repeat(400_000) }));
    const send = async (id: number) => {
      const headers = signRequest(PROOF, SECRET, body, { id: `d${id}`, nowSeconds: Date.now() / 1_000 });
      return (await fetch(`${sidecar.hookUrl}/hook/hook`, { method: "POST", body, headers })).status;
    };
    const names = await addDue(sidecar.client, [2, 3]);
    disk.fill(0);
    expect(disk.freeBytes()).toBe(0);
    // The first ones still fit into the room that the database has.
    let count = 0;
    while ((await send(count)) === 202) count += 1;
    expect(count).toBeLessThan(10);
    expect(await send(count)).toBe(503);
    const dueAt = Date.now() + 4_000;
    await until("both to be due", () => Date.now() > dueAt);
    disk.empty();
    await until("the refused one to be taken", async () => (await send(count)) === 202);
    expect(await send(0)).toBe(202);
    const wanted = [...names, ...Array(count + 1).fill("hook")].sort();
    const log = join(sidecar.reposDir, "shop", "log");
    const noted = () => readFileSync(log, "utf8").trim().split("\n").sort();
    await untilValue("all to have begun", noted, (all) => all.length >= wanted.length, { timeoutMs: 90_000 });
    await untilOver(sidecar.client, names);
    expect(noted()).toEqual(wanted);
  },
);
