/** Requests on their way to runs: what comes together costs one look, and a run has bounds. */
import { afterEach, expect, test } from "vitest";
import type { JobRequest } from "../../shared/jobs/job.ts";
import { type JobsWorld, MINUTE, makeJobsWorld } from "../../test/support/jobs.ts";
import { untilValue } from "../../test/support/wait.ts";
import { groupsOf } from "./feed.ts";

let world: JobsWorld;
afterEach(() => world?.close());

const WEBHOOK = {
  type: "webhook" as const,
  proof: { preset: "github" as const },
  secret: "a-secret-that-nobody-knows",
};
const COMMAND = { type: "command" as const, dir: "shop", command: "true" };

function deliver(deliveryId: string, groupKey = "", body = Buffer.from("{}")): void {
  const request = { hook: "hook", deliveryId, receivedAt: world.nowMs, knownUntil: world.nowMs + 1e9 };
  world.store.hookRequests.keep([{ ...request, groupKey, outcome: "taken", body }]);
  world.feed.arrive("hook");
}

const add = (when: object, more: Partial<JobRequest> = {}) =>
  world.add({ name: "hook", when: { ...WEBHOOK, ...when }, what: COMMAND, overlap: "allow", ...more });

/** Counts the looks at what waits for a hook. */
function countLooks(): () => number {
  const { hookRequests } = world.store;
  const list = hookRequests.listWaiting.bind(hookRequests);
  let looks = 0;
  hookRequests.listWaiting = (hook, max) => {
    looks += 1;
    return list(hook, max);
  };
  return () => looks;
}

test("a thousand requests that come together are looked at once, and are one run", async () => {
  world = makeJobsWorld({ hasDoor: true });
  await add({ coalesce: { key: "/a", windowSeconds: 60, maxWaitSeconds: 60 } });
  const looks = countLooks();
  for (let at = 0; at < 1_000; at++) {
    deliver(`d${at}`, `"${at % 2}"`);
    if (at % 100 === 0) await world.feed.idle();
  }
  await world.feed.idle();
  expect(looks()).toBe(1);
  world.nowMs += MINUTE;
  world.feed.wake("hook");
  await world.feed.idle();
  expect(world.runs("hook")).toHaveLength(2);
});

test("requests of many keys have a look together, and each is passed on once its window is over", async () => {
  world = makeJobsWorld({ hasDoor: true });
  await add({ coalesce: { key: "/a", windowSeconds: 1, maxWaitSeconds: 1 } });
  const looks = countLooks();
  for (let at = 0; at < 100; at++) {
    deliver(`d${at}`, `"${at}"`);
    await world.feed.idle();
    world.nowMs += 10;
  }
  world.nowMs += 1_000;
  await untilValue(
    "all of them",
    async () => world.runs("hook"),
    (runs) => runs.length === 100,
  );
  expect(looks()).toBeLessThan(20);
});

test("requests that come while one is passed on wait for one look more", async () => {
  world = makeJobsWorld({ hasDoor: true });
  await add({});
  const looks = countLooks();
  for (let at = 0; at < 50; at++) deliver(`d${at}`);
  await world.feed.idle();
  expect(looks()).toBe(1);
  expect(world.runs("hook")).toHaveLength(50);
});

test("a job made anew under a name is looked at, though a look at the one before it is planned", async () => {
  world = makeJobsWorld({ hasDoor: true });
  await add({ coalesce: { windowSeconds: 3_600, maxWaitSeconds: 3_600 } });
  deliver("one");
  await world.feed.idle();
  world.jobs.remove("hook");
  await add({});
  deliver("two");
  await world.feed.idle();
  expect(world.runs("hook")).toHaveLength(1);
});

test("what more than a thousand wait for is passed on without another request", async () => {
  world = makeJobsWorld({ hasDoor: true });
  await add({});
  for (let at = 0; at < 2_500; at++) {
    const request = {
      hook: "hook",
      deliveryId: `d${at}`,
      receivedAt: world.nowMs,
      knownUntil: world.nowMs + 1e9,
    };
    world.store.hookRequests.add([{ ...request, groupKey: "", outcome: "taken", body: Buffer.from("{}") }]);
  }
  world.feed.wake("hook");
  await world.feed.idle();
  expect(world.store.hookRequests.listHooks()).toEqual([]);
  expect(world.runs("hook")).toHaveLength(3);
});

test("the bodies of a run have 8 MiB at most", () => {
  const waiting = Array.from({ length: 120 }, (_, at) => ({
    ...{ deliveryId: `d${at}`, receivedAt: 0, groupKey: "" },
    bytes: 1024 * 1024,
  }));
  const sizes = (coalesce?: Parameters<typeof groupsOf>[1]) =>
    groupsOf(waiting, coalesce, 1e9).due.map(({ length }) => length);
  expect(sizes()).toEqual(Array(15).fill(8));
  expect(sizes({ windowSeconds: 1, maxWaitSeconds: 1 })).toEqual(Array(15).fill(8));
  const large = { ...waiting[0], deliveryId: "large", receivedAt: 0, groupKey: "", bytes: 9 * 1024 * 1024 };
  const joined = groupsOf([large, ...waiting.slice(0, 8)], { windowSeconds: 1, maxWaitSeconds: 1 }, 1e9);
  expect(joined.due.map(({ length }) => length)).toEqual([1, 8]);
});

test("a hook that has expired takes nothing, and is over once nothing waits for it", async () => {
  world = makeJobsWorld({ hasDoor: true });
  const expiresAt = new Date(world.nowMs + 10 * MINUTE).toISOString();
  await add({ coalesce: { windowSeconds: 1_200, maxWaitSeconds: 1_200 } }, { expiresAt });
  const find = () => world.hooks.find("hook");
  deliver("one");
  await world.pass(9 * MINUTE);
  expect(find()).toBeDefined();
  await world.pass(MINUTE);
  expect(find()).toBeUndefined();
  expect(world.jobs.get("hook").state).toBe("active");
  await world.pass(10 * MINUTE);
  world.feed.wake("hook");
  await world.feed.idle();
  await world.pass(0);
  expect(world.runs("hook")).toHaveLength(1);
  expect(world.jobs.get("hook")).toMatchObject({ state: "over", why: "It has expired." });
});

test("an event starts no job that has expired", async () => {
  world = makeJobsWorld();
  const expiresAt = new Date(world.nowMs + MINUTE).toISOString();
  const when = { type: "event" as const, events: ["thread_created"], everySeconds: 1 };
  await world.add({ name: "watch", when, what: COMMAND, expiresAt });
  world.nowMs += MINUTE;
  await world.open("late");
  world.events.settle();
  await world.pass(2_000);
  world.feed.wake("watch");
  await world.feed.idle();
  expect(world.runs("watch")).toEqual([]);
  expect(world.jobs.get("watch").state).toBe("over");
});
