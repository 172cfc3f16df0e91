/** Jobs that put agents to work and that nobody deals with: people are asked, once in 30 days. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../../shared/log.ts";
import { OWNER } from "../../shared/principal.ts";
import { HOUR, type JobsWorld, makeJobsWorld } from "../../test/support/jobs.ts";
import { Unattended } from "./unattended.ts";

const DAY = 24 * HOUR;
const INPUT = { type: "input" as const, threadId: "target", text: "hi" };
const DAILY = { when: { type: "every" as const, seconds: 86_400 }, what: INPUT, missed: "once" as const };

let world: JobsWorld;
/** When a person has written last, by thread. */
let wrote: Map<string, number>;
beforeEach(async () => {
  world = makeJobsWorld();
  wrote = new Map();
  await world.open("target");
});
afterEach(() => world.close());

/** Lets this many days go by, in each of which the job runs and people are asked if need be. */
async function days(count: number): Promise<void> {
  const unattended = new Unattended({
    ...{ store: world.store, news: world.news, now: () => world.nowMs, log: createLog("vm", "silent") },
    lastPersonAt: (threadId) => wrote.get(threadId),
  });
  for (let day = 0; day < count; day++) {
    await world.pass(DAY);
    unattended.look();
  }
}

const asked = () =>
  world.news
    .list(false, 50)
    .filter(({ kind }) => kind === "asks")
    .map(({ job }) => job);

test("asked about once in 30 days, and it goes on meanwhile", async () => {
  await world.add({ ...DAILY });
  await days(29);
  expect(asked()).toEqual([]);
  await days(2);
  expect(asked()).toEqual(["nightly"]);
  expect(world.news.list(true, 50)).toMatchObject([
    { text: expect.stringMatching(/for 30 days, in which it has cost \$0\.00\. Is it still wanted\?/) },
  ]);
  expect(world.jobs.get("nightly").state).toBe("active");
  await days(31);
  expect(asked()).toHaveLength(2);
});

test.each([
  ["resumes it", () => world.jobs.resume("nightly")],
  ["runs it", () => world.jobs.run("nightly", OWNER)],
  ["writes in its thread", () => wrote.set("target", world.nowMs)],
])("whoever %s has dealt with it", async (_, deal) => {
  await world.add({ ...DAILY });
  await days(25);
  deal();
  await days(25);
  expect(asked()).toEqual([]);
  await days(10);
  expect(asked()).toHaveLength(1);
});

test("not of a job without an agent, of one that is paused, nor of one that has not run", async () => {
  await world.add({ ...DAILY, name: "backup", what: { type: "command", dir: "shop", command: "true" } });
  await world.add({ ...DAILY, name: "paused", paused: true });
  await world.add({ ...DAILY, name: "yearly", when: { type: "cron", cron: "0 9 1 1 *", zone: "UTC" } });
  await days(70);
  expect(asked()).toEqual([]);
});
