/** A sidecar that is killed between any two steps of a run: the next one goes on, and nothing is begun twice. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobRequest } from "../../shared/jobs/job.ts";
import { type JobsWorld, MINUTE, makeJobsWorld, NOW } from "../../test/support/jobs.ts";
import { Killer } from "../../test/support/jobs-killer.ts";

async function killed(world: JobsWorld, killer: Killer, request: Partial<JobRequest>) {
  if (request.what?.type === "input") await world.open("cat");
  await world.add(request);
  await world.reopen((store) => killer.wrap(store));
  await world.pass(10 * MINUTE);
  await world.reopen();
  await world.pass(1);
  await world.pass(1);
}

/** Each point of a run at which it can be killed, until there is none left. */
async function atEachPoint(
  request: Partial<JobRequest>,
  check: (world: JobsWorld, isKilled: boolean) => Promise<void> | void,
) {
  let points = 0;
  for (const isAfter of [false, true]) {
    for (let at = 1; ; at++) {
      const killer = new Killer(at, isAfter);
      const world = makeJobsWorld();
      try {
        await killed(world, killer, request);
        await check(world, killer.isDead);
      } finally {
        await world.close();
      }
      if (!killer.isDead) break;
      points++;
    }
  }
  expect(points).toBeGreaterThan(6);
}

const RUN = `nightly-${(NOW + 10 * MINUTE) / 1_000}`;

test("a terminal: one row, one thread, and `unknown` only if its program has begun", async () => {
  await atEachPoint({}, async (world) => {
    const [run, ...more] = world.runs();
    expect(more).toEqual([]);
    expect(world.begun).toEqual([RUN]);
    const isThere = world.store.threads.list("open").length > 0;
    expect(run).toMatchObject({ run: RUN, status: isThere ? "started" : "unknown" });
    expect(world.jobs.get("nightly").next[0]).toBe(new Date(NOW + 20 * MINUTE).toISOString());
    if (run?.status === "started") {
      await world.end(RUN);
      expect(world.runs()).toMatchObject([{ status: "done" }]);
    }
  });
});

test("a command: run once at most, and `unknown` only if it may have begun", async () => {
  const what = { type: "command" as const, dir: "shop", command: "echo begun >>log" };
  await atEachPoint({ what }, (world, isKilled) => {
    const [run, ...more] = world.runs();
    expect(more).toEqual([]);
    const begun = logOf(world);
    expect(begun.length).toBeLessThanOrEqual(1);
    expect(["done", "unknown"]).toContain(run?.status);
    if (!isKilled) expect(run?.status).toBe("done");
    if (run?.status === "done") expect(begun).toEqual(["begun"]);
  });
});

test("a check: run once at most, and the input goes in once if it printed something", async () => {
  const check = "echo begun >>log; echo something";
  const what = { type: "agent" as const, dir: "shop", prompt: "hi" };
  await atEachPoint({ what, check }, (world, isKilled) => {
    const [run, ...more] = world.runs();
    expect(more).toEqual([]);
    const begun = logOf(world);
    expect(begun.length).toBeLessThanOrEqual(1);
    expect(["started", "unknown"]).toContain(run?.status);
    if (!isKilled) expect(run?.status).toBe("started");
    if (run?.status === "unknown") expect(world.begun).toEqual([]);
    else expect([...new Set(world.begun), ...begun]).toEqual([RUN, "begun"]);
  });
});

test("a command's output and exit code are the run's report; what it left behind is ended", async () => {
  const world = makeJobsWorld();
  try {
    const command = "echo out; echo err >&2; printf '\\033[31mred\\033[0m\\n'; sleep 300 & exit 3";
    await world.add({ what: { type: "command", dir: "shop", command } });
    await world.pass(10 * MINUTE);
    expect(world.runs()).toMatchObject([
      { status: "failed", reason: "exit code 3", output: "out\nerr\nred\n" },
    ]);
    await world.add({
      name: "slow",
      what: { type: "command", dir: "shop", command: "sleep 300" },
      limits: { seconds: 1 },
    });
    world.jobs.run("slow", { kind: "owner" });
    await world.pass(0);
    expect(world.runs("slow")).toMatchObject([{ status: "failed", reason: "limit: it took more than 1 s" }]);
    await world.add({
      name: "loud",
      what: { type: "command", dir: "shop", command: "yes | head -c 3000000" },
    });
    world.jobs.run("loud", { kind: "owner" });
    await world.pass(0);
    expect(world.runs("loud")[0]?.output?.length).toBe(16 * 1024);
  } finally {
    await world.close();
  }
});

function logOf({ folder }: JobsWorld): string[] {
  try {
    return readFileSync(join(folder, "shop", "log"), "utf8")
      .trim()
      .split("\n");
  } catch {
    return [];
  }
}
