/** Each due instant has one row, whatever the clock, the sidecar and the runs before it do. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { OWNER, person } from "../../shared/principal.ts";
import { HOUR, type JobsWorld, MINUTE, makeJobsWorld, NOW } from "../../test/support/jobs.ts";
import { until } from "../../test/support/wait.ts";

let world: JobsWorld;
beforeEach(() => {
  world = makeJobsWorld();
});
afterEach(() => world.close());

const said = (job?: string) => world.runs(job).map(({ status, reason }) => [status, reason]);
const iso = (ms: number) => new Date(ms).toISOString();

describe("a due instant", () => {
  test("has one run, whose thread is called like it, and its end is the run's", async () => {
    const job = await world.add({});
    expect(job).toMatchObject({
      state: "active",
      next: [iso(NOW + 10 * MINUTE), iso(NOW + 20 * MINUTE), iso(NOW + 30 * MINUTE)],
    });
    await world.pass(10 * MINUTE - 1);
    expect(world.runs()).toEqual([]);
    await world.pass(1);
    await world.pass(0);
    const run = `nightly-${(NOW + 10 * MINUTE) / 1_000}`;
    expect(world.runs()).toMatchObject([
      { run, status: "started", threadId: run, dueAt: iso(NOW + 10 * MINUTE), by: "job:nightly" },
    ]);
    expect(world.begun).toEqual([run]);
    await world.end(run);
    expect(world.runs()).toMatchObject([{ status: "done", reason: null, endedAt: iso(world.nowMs) }]);
    expect(world.jobs.get("nightly").next[0]).toBe(iso(NOW + 20 * MINUTE));
  });

  test("that is the only one ends the job", async () => {
    await world.add({ when: { type: "words", words: "in 20m" } });
    await world.pass(20 * MINUTE);
    expect(world.jobs.get("nightly")).toMatchObject({ state: "over", next: [], why: "It is not due again." });
    expect(world.begun).toHaveLength(1);
    await expect(world.jobs.resume("nightly")).rejects.toThrow(/over/);
  });

  test("is late by as much as the sidecar was, and the next one counts from it", async () => {
    await world.add({});
    await world.pass(12 * MINUTE);
    expect(world.runs()).toMatchObject([{ status: "started", dueAt: iso(NOW + 10 * MINUTE) }]);
    expect(world.jobs.get("nightly").next[0]).toBe(iso(NOW + 20 * MINUTE));
  });
});

describe("missed", () => {
  const daily = { when: { type: "cron" as const, cron: "0 9 * * *", zone: "UTC" } };
  test.each([
    [undefined, 30 * MINUTE + 90 * MINUTE, "started"],
    [undefined, 30 * MINUTE + 3 * HOUR, "missed"],
    ["once", 30 * MINUTE + 13 * HOUR, "started"],
    ["skip", 30 * MINUTE + 2 * MINUTE, "missed"],
    ["skip", 30 * MINUTE + 59_000, "started"], // the timer sleeps so long
    ["ask", 30 * MINUTE + 2 * MINUTE, "missed"],
  ] as const)("%s, %i ms later: %s", async (missed, ms, status) => {
    await world.add({ ...daily, ...(missed && { missed }) });
    await world.reopen();
    await world.pass(ms);
    expect(world.runs()).toMatchObject([{ status, missed: 0 }]);
    expect(world.begun).toHaveLength(status === "started" ? 1 : 0);
    if (missed === "ask") expect(world.runs()[0]?.reason).toMatch(/threadmux job run nightly/);
  });

  test("several are one, with their number", async () => {
    await world.add({ ...daily, missed: "once" });
    await world.pass(5 * 24 * HOUR);
    expect(world.runs()).toMatchObject([{ status: "started", missed: 4, dueAt: "2027-01-09T09:00:00.000Z" }]);
    await world.pass(MINUTE);
    expect(world.begun).toHaveLength(1);
  });
});

describe("the clock", () => {
  const minutely = { when: { type: "every" as const, seconds: 60 }, overlap: "allow" as const };

  test("put back an hour runs nothing twice", async () => {
    await world.add({ when: { type: "cron", cron: "0 * * * *", zone: "UTC" }, overlap: "allow" });
    await world.pass(31 * MINUTE); // 9:01
    await world.pass(-HOUR);
    for (let i = 0; i < 61; i++) await world.pass(MINUTE);
    expect(world.runs().map(({ dueAt }) => dueAt)).toEqual(["2027-01-05T09:00:00.000Z"]);
    await world.pass(HOUR);
    expect(world.runs()).toHaveLength(2);
  });

  test("put ahead a day and right again: the next run comes within one period, none twice", async () => {
    await world.add(minutely);
    for (let i = 0; i < 3; i++) await world.pass(MINUTE);
    await world.pass(24 * HOUR);
    await world.pass(-24 * HOUR);
    await world.reopen();
    for (let i = 0; i < 2; i++) await world.pass(MINUTE);
    const runs = world.runs().map(({ run }) => run);
    expect(runs).toHaveLength(new Set(runs).size);
    expect(runs).toHaveLength(3 + 1 + 2);
    expect(world.begun).toHaveLength(6);
  });

  test("every minute for some hours: one start each", async () => {
    await world.add(minutely);
    for (let i = 0; i < 60; i++) await world.pass(MINUTE);
    expect(world.begun).toHaveLength(60);
    expect(new Set(world.begun).size).toBe(60);
  });
});

describe("busy", () => {
  test("an instant at which the run before goes on is skipped, and counted", async () => {
    await world.add({});
    await world.pass(10 * MINUTE);
    await world.pass(10 * MINUTE);
    expect(said()).toEqual([
      ["started", null],
      ["skipped", "busy: the run before it goes on"],
    ]);
    await world.end(world.begun[0] ?? "");
    await world.pass(10 * MINUTE);
    expect(world.begun).toHaveLength(2);
  });

  test("unless the job allows it", async () => {
    await world.add({ overlap: "allow" });
    await world.pass(10 * MINUTE);
    await world.pass(10 * MINUTE);
    expect(world.begun).toHaveLength(2);
  });
});

test("after three failures of one reason the job is paused; another reason counts anew", async () => {
  await world.add({});
  for (const exitCode of [1, 2, 2, 2]) {
    expect(world.jobs.get("nightly").state).toBe("active");
    await world.pass(10 * MINUTE);
    await world.end(world.begun.at(-1) ?? "", exitCode);
  }
  expect(world.jobs.get("nightly")).toMatchObject({ state: "paused", next: [] });
  expect(world.jobs.get("nightly").why).toMatch(/last 3 runs failed for one reason: exit code 2\. Resume/);
  await world.pass(HOUR);
  expect(world.runs()).toHaveLength(4);
  expect(await world.jobs.resume("nightly")).toMatchObject({ state: "active", why: null });
  await world.pass(10 * MINUTE);
  expect(world.begun).toHaveLength(5);
});

test("what costs more than its day's cap is skipped until midnight of the machine", async () => {
  await world.add({ limits: { spendUsdPerDay: 0.1 }, overlap: "allow" });
  await world.pass(10 * MINUTE);
  world.store.jobRuns.update(world.begun[0] ?? "", { costUsd: 0.11 });
  await world.pass(10 * MINUTE);
  expect(said()[1]).toEqual(["skipped", "cap: its runs of today have cost $0.11 of $0.10"]);
  expect(() => world.jobs.run("nightly", person("1"))).toThrow(/can't run now: cap/);
  await world.pass(24 * HOUR);
  expect(world.begun).toHaveLength(2);
});

test("a job of somebody who is gone is paused, and says so", async () => {
  const maker = person("100000000000000009");
  await world.add({}, maker);
  world.gone.add("100000000000000009");
  await world.pass(10 * MINUTE);
  expect(world.begun).toEqual([]);
  expect(world.jobs.get("nightly")).toMatchObject({ state: "paused" });
  expect(world.jobs.get("nightly").why).toMatch(/Discord user 100000000000000009\) may no longer/);
  await expect(world.jobs.resume("nightly")).rejects.toThrow(/may no longer/);
  expect(() => world.jobs.run("nightly", person("1"))).toThrow(/may no longer/);
});

test("a job that has expired is over; one that would be at once is refused", async () => {
  await world.add({ expiresAt: iso(NOW + 15 * MINUTE) });
  await world.pass(10 * MINUTE);
  await world.pass(10 * MINUTE);
  expect(world.begun).toHaveLength(1);
  expect(world.jobs.get("nightly")).toMatchObject({ state: "over", why: "It has expired." });
  await expect(world.add({ name: "late", expiresAt: iso(world.nowMs + MINUTE) })).rejects.toThrow(
    /^expiresAt:/,
  );
});

test("paused, what is due meanwhile is not run; by hand it runs all the same", async () => {
  await world.add({});
  world.jobs.pause("nightly", person("1"));
  await world.pass(HOUR);
  expect(world.begun).toEqual([]);
  const run = world.jobs.run("nightly", person("1"));
  await world.pass(0);
  expect(world.runs()).toMatchObject([{ run, status: "started", dueAt: null, by: "discord:1" }]);
  await world.end(run);
  await world.jobs.resume("nightly");
  await world.pass(10 * MINUTE);
  expect(world.begun).toHaveLength(2);
  expect(() => world.jobs.run("nightly", person("1"))).toThrow(/busy/);
  await world.end(world.begun.at(-1) ?? "");
  expect(world.jobs.run("nightly", person("1"))).not.toBe(run);
});

test("a run whose maker is gone before it begins is not begun, and the job is paused once", async () => {
  await world.add({ overlap: "allow" }, person("42"));
  await world.pass(10 * MINUTE - 1);
  world.store.transaction(() => {
    world.nowMs += 1;
    world.scheduler.look();
    world.gone.add("42"); // between its claim and its start
  });
  await world.pass(0);
  expect(world.begun).toEqual([]);
  expect(world.runs()).toMatchObject([{ status: "skipped", reason: expect.stringMatching(/^rights: .*42/) }]);
  expect(world.jobs.get("nightly").state).toBe("paused");
  expect(world.news.list(false, 50).filter(({ kind }) => kind === "paused")).toHaveLength(1);
});

test("an input goes in only if its maker may write there, then and now", async () => {
  await world.open("target");
  const what = { type: "input" as const, threadId: "target", text: "hi" };
  await world.add({ name: "early", what }, person("42"));
  await world.pass(10 * MINUTE);
  world.mute.add("42");
  await world.pass(10 * MINUTE);
  expect(world.runs("early")).toMatchObject([
    { status: "done" },
    { status: "failed", reason: expect.stringMatching(/^forbidden: .*Discord user 42 may not write/) },
  ]);
  await expect(world.add({ name: "late", what }, person("42"))).rejects.toMatchObject({ code: "forbidden" });
});

test("a database that takes nothing is tried again after a while, not at once", async () => {
  await world.add({});
  let looks = 0;
  await world.reopen((store) => ({
    ...store,
    transaction: () => {
      looks += 1;
      throw Object.assign(new Error("full"), { code: "SQLITE_FULL" });
    },
  }));
  world.nowMs += 11 * MINUTE;
  const before = looks;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  world.scheduler.look();
  vi.advanceTimersByTime(4_999);
  expect(looks - before).toBe(1);
  vi.advanceTimersByTime(1);
  expect(looks - before).toBe(2);
});

test("what a command has come to while nothing could be stored is stored later, and it is not begun again", async () => {
  const what = { type: "command" as const, dir: "shop", command: "echo ran >>log; echo said" };
  await world.add({ what });
  let isFull = false;
  await world.reopen((store) => ({
    ...store,
    transaction: (work) => {
      if (isFull) throw Object.assign(new Error("full"), { code: "SQLITE_FULL" });
      return store.transaction(work);
    },
  }));
  world.nowMs += 10 * MINUTE;
  world.scheduler.look();
  isFull = true;
  const log = join(world.folder, "shop", "log");
  await until("it to have run", () => existsSync(log));
  await world.pass(1);
  expect(world.runs()).toMatchObject([{ status: "claimed" }]);
  isFull = false;
  await world.pass(1);
  expect(world.runs()).toMatchObject([{ status: "done", output: "said\n" }]);
  expect(readFileSync(log, "utf8")).toBe("ran\n");
});

test("what should have begun some minutes ago is overdue", async () => {
  await world.add({});
  world.nowMs += 11 * MINUTE;
  expect(world.jobs.overdue()).toEqual({ count: 0, names: [] });
  world.nowMs += 2 * MINUTE;
  expect(world.jobs.overdue()).toEqual({ count: 1, names: ["nightly"] });
  await world.pass(0);
  expect(world.jobs.overdue()).toEqual({ count: 0, names: [] });
});

describe("what is refused", () => {
  test.each([
    [{ name: "Nightly" }, /must begin with a letter/],
    [{ name: "x".repeat(41) }, /at most 40/],
    [{ what: { type: "terminal" as const, dir: "../..", command: "ls" } }, /outside of the repositories/],
    [{ what: { type: "terminal" as const, dir: "shop", command: " " } }, /must not be empty/],
    [{ what: { type: "command" as const, dir: "nowhere", command: "ls" } }, /does not exist/],
    [
      { what: { type: "input" as const, threadId: "nobody", text: "hi" } },
      /^what\.threadId: there is no thread/,
    ],
    [{ limits: { spendUsd: -1 } }, /at least 0\.0001/],
    [{ when: { type: "every" as const, seconds: 10 } }, /at least 60/],
    [
      { when: { type: "webhook" as const, proof: { preset: "github" as const } } },
      /^when\.type: the hook's door is shut/,
    ],
  ])("%j", async (request, problem) => {
    await expect(world.add(request)).rejects.toThrow(problem);
    expect(world.jobs.list()).toEqual([]);
  });

  test("a name that is taken, a target that has ended, and one job too many", async () => {
    await world.add({ name: "a" });
    await expect(world.add({ name: "a" })).rejects.toMatchObject({ code: "job_exists" });
    await world.pass(10 * MINUTE);
    const threadId = world.begun[0] ?? "";
    world.store.threads.update(threadId as never, { status: "killed" });
    await expect(
      world.add({ name: "b", what: { type: "input", threadId, text: "hi" } }),
    ).rejects.toMatchObject({
      code: "thread_ended",
    });
    await world.close();
    world = makeJobsWorld({ maxJobs: 2 });
    for (const name of ["a", "b"]) await world.add({ name });
    await expect(world.add({ name: "c" })).rejects.toMatchObject({ code: "max_jobs" });
    world.jobs.remove("a");
    await world.add({ name: "c" });
    expect(world.jobs.list().map(({ name }) => name)).toEqual(["b", "c"]);
  });
});

test("what is due outside of its hours is skipped, also past midnight, in the job's zone", async () => {
  const when = { type: "cron" as const, cron: "0 * * * *", zone: "Europe/Berlin" };
  await world.add({ when, hours: { from: "22:00", to: "10:00" }, overlap: "allow" });
  await world.pass(30 * MINUTE); // 10:00 in Berlin
  await world.pass(12 * HOUR);
  await world.pass(HOUR);
  expect(said().map(([status]) => status)).toEqual(["skipped", "started", "started"]);
  await expect(world.add({ name: "bad", hours: { from: "9", to: "10:00" } })).rejects.toThrow(
    /such as 08:30/,
  );
  // Hours are the clock's: a person runs it at any hour.
  world.nowMs += 4 * HOUR;
  expect(() => world.jobs.run("nightly", OWNER)).not.toThrow();
  const once = { type: "words" as const, words: "in 20m" };
  await expect(
    world.add({ name: "soon", when: once, hours: { from: "00:00", to: "23:59" } }),
  ).resolves.toBeDefined();
});
