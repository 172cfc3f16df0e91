/** The threads that runs leave behind. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../../shared/log.ts";
import { OWNER } from "../../shared/principal.ts";
import { HOUR, type JobsWorld, MINUTE, makeJobsWorld } from "../../test/support/jobs.ts";
import { LeftBehind } from "./left-behind.ts";

let world: JobsWorld;
beforeEach(() => {
  world = makeJobsWorld();
});
afterEach(() => world.close());

test("the thread of a run is ended a day after it, but for the newest twenty and those with a person", async () => {
  await world.add({ when: { type: "every", seconds: 60 }, overlap: "allow" });
  const ended: string[] = [];
  const left = new LeftBehind({
    store: world.store,
    hasPerson: (threadId) => world.store.inputs.hasAny(threadId),
    kill: async (threadId) => void ended.push(threadId),
    ...{ now: () => world.nowMs, log: createLog("vm", "silent") },
  });
  for (let at = 0; at < 24; at++) {
    await world.pass(MINUTE);
    const run = world.begun.at(-1) ?? "";
    if (at !== 3) await world.end(run);
  }
  world.store.inputs.set(world.begun[1] as never, "m1", "sent");
  world.jobs.pause("nightly", OWNER);
  await left.look();
  expect(ended).toEqual([]);
  world.nowMs += 25 * HOUR;
  await left.look();
  // The second has a person's words, the fourth is not over.
  expect(ended.sort()).toEqual([world.begun[0], world.begun[2]].sort());
});

test("the threads of a removed job are ended too, and one that can't be ended holds up no other", async () => {
  const ended: string[] = [];
  const left = new LeftBehind({
    store: world.store,
    hasPerson: (threadId) => world.store.inputs.hasAny(threadId),
    kill: async (threadId) => {
      if (threadId === world.begun[2]) throw new Error("tmux does not answer");
      ended.push(threadId);
    },
    ...{ now: () => world.nowMs, log: createLog("vm", "silent") },
  });
  await world.add({ when: { type: "every", seconds: 60 }, overlap: "allow" });
  for (let at = 0; at < 4; at++) await world.pass(MINUTE);
  for (const run of world.begun.slice(0, 3)) await world.end(run);
  world.jobs.remove("nightly");
  await left.look();
  expect(ended).toEqual([]);
  world.nowMs += 25 * HOUR;
  await left.look();
  // The command of the fourth still runs.
  expect(ended.sort()).toEqual(world.begun.slice(0, 2).sort());
});
