/** People and threads are told once of their jobs, over kills too. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { jobRequestSchema } from "../../shared/jobs/job.ts";
import { OWNER, person } from "../../shared/principal.ts";
import { type JobsWorld, MINUTE, makeJobsWorld } from "../../test/support/jobs.ts";

let world: JobsWorld;
beforeEach(() => {
  world = makeJobsWorld();
});
afterEach(() => world.close());

test("a kill between a job and the notice of it loses neither; the thread is told once", async () => {
  const thread = { kind: "thread" as const, threadId: "maker" };
  const what = { type: "command" as const, dir: "shop", command: "true" };
  const request = jobRequestSchema().parse({ name: "wake", when: { type: "every", seconds: 60 }, what });
  await world.jobs.create(request, thread, "made it");
  expect(world.told).toEqual([]);
  await world.reopen();
  await world.jobs.tellMakers();
  await world.jobs.tellMakers();
  expect(world.told).toEqual(["maker: made it"]);
});

test("news of a channel in which nothing is told keep no others waiting", async () => {
  const news = (job: string, report: string | null, at: number) =>
    world.store.jobNews.insert({
      ...{ key: `${job}.${at}`, job, kind: "failed", text: "x", output: null, report: report as never, at },
    });
  for (let at = 0; at < 150; at++) news("dead", "123456789012345678", at);
  news("first", null, 200);
  news("other", "223456789012345678", 201);
  const untold = world.news.list(true, 100);
  expect(untold).toHaveLength(100);
  expect(untold.map(({ job }) => job).slice(-2)).toEqual(["first", "other"]);
});

describe("people are told once", () => {
  const told = () => world.news.list(false, 50).map(({ kind, text, output }) => [kind, text, output]);
  const command = (line: string) => ({ what: { type: "command" as const, dir: "shop", command: line } });

  test("what a command printed, and of one that failed why; nothing of one that is silent", async () => {
    await world.add({ ...command("echo hi"), report: "424242424242424242" });
    await world.add({ ...command("echo no; exit 3"), name: "bad" });
    await world.add({ ...command("true"), name: "silent" });
    await world.pass(10 * MINUTE);
    expect(told().sort()).toEqual([
      ["failed", "exit code 3", "no\n"],
      ["output", "", "hi\n"],
    ]);
    expect(world.news.list(true, 50).find(({ job }) => job === "nightly")?.channelId).toBe(
      "424242424242424242",
    );
  });

  test("that a job is paused after three failures, or because its maker is gone; not what a person did", async () => {
    await world.add(command("exit 1"));
    for (let run = 0; run < 4; run++) await world.pass(10 * MINUTE);
    expect(told().map(([kind]) => kind)).toEqual(["paused", "failed", "failed", "failed"]);
    await world.add({ name: "hers" }, person("42"));
    world.jobs.pause("hers", OWNER);
    await world.jobs.resume("hers");
    world.gone.add("42");
    await world.pass(10 * MINUTE);
    expect(told()).toHaveLength(5);
    expect(told()[0]).toEqual(["paused", expect.stringContaining("Discord user 42"), null]);
  });

  test("of a missed instant, and once a day that its money is spent", async () => {
    await world.add({ missed: "skip" });
    await world.pass(35 * MINUTE);
    expect(told()).toEqual([["missed", expect.stringContaining("before the sidecar could look"), null]]);
    await world.add({ name: "dear", overlap: "allow" });
    await world.pass(10 * MINUTE);
    const [run] = world.runs("dear");
    world.store.jobRuns.update(run?.run ?? "", { costUsd: 6 });
    await world.pass(10 * MINUTE);
    await world.pass(10 * MINUTE);
    expect(world.runs("dear").map(({ status }) => status)).toEqual(["started", "skipped", "skipped"]);
    expect(told().filter(([kind]) => kind === "cap")).toEqual([
      ["cap", expect.stringContaining("$6.00 of"), null],
    ]);
  });

  test("what was told is listed as told, and of many the newest stay", async () => {
    await world.add(command("echo hi"));
    await world.pass(10 * MINUTE);
    const [one] = world.news.list(true, 50);
    world.news.setTold(one?.newsId ?? 0);
    expect(world.news.list(true, 50)).toEqual([]);
    expect(world.news.list(false, 50)).toHaveLength(1);
    for (let at = 0; at < 600; at++)
      world.store.jobNews.insert({
        ...{ key: `k${at}`, job: "x", kind: "paused", text: "", output: null, report: null, at },
      });
    expect(world.news.list(false, 1_000)).toHaveLength(500);
  });
});

test("of many one piece is made, which counts those that it stands for; what is told stays", async () => {
  const add = (job: string, report: string | null = null) =>
    world.store.jobNews.insert({
      ...{ key: job, job, kind: "failed", text: "x", output: null, report: report as never, at: 1 },
    });
  for (const job of ["told", "one", "two", "three", "last"]) add(job);
  const [told, ...rest] = world.news.list(true, 50).map(({ newsId }) => newsId);
  world.news.setTold(told ?? 0);
  const sum = [told ?? 0, ...rest.slice(0, 2)];
  for (let time = 0; time < 2; time++) world.news.sum(sum);
  expect(world.news.list(true, 50).map(({ job, kind, count }) => [job, kind, count])).toEqual([
    ["three", "failed", 1],
    ["last", "failed", 1],
    ["", "more", 2],
  ]);
  // What stands for several is itself put together with others, and goes to the channel of the newest.
  add("elsewhere", "424242424242424242");
  world.news.sum(world.news.list(true, 50).map(({ newsId }) => newsId));
  expect(world.news.list(true, 50)).toMatchObject([
    { kind: "more", count: 5, channelId: "424242424242424242" },
  ]);
});
