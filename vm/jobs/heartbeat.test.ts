/** Heartbeats: a job whose agent says whether all is well, and what its monitor hears of it. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { OWNER } from "../../shared/principal.ts";
import { type JobsWorld, MINUTE, makeJobsWorld } from "../../test/support/jobs.ts";
import { until } from "../../test/support/wait.ts";
import { isWell, RUNS_LOOKED_AT, whySilent } from "./heartbeat.ts";

let world: JobsWorld;
beforeEach(() => {
  world = makeJobsWorld();
});
afterEach(() => world.close());

const said = (job?: string) => world.runs(job).map(({ status, reason }) => [status, reason]);

describe("a heartbeat", () => {
  const heartbeat = {
    heartbeat: true as const,
    what: { type: "agent" as const, dir: "shop", prompt: "how is it?" },
  };

  test("costs nothing while HEARTBEAT.md asks for nothing, is a link, or is not there", async () => {
    const file = join(world.folder, "shop", "HEARTBEAT.md");
    await world.add(heartbeat);
    await world.pass(10 * MINUTE);
    writeFileSync(file, "# Look at\n\n  \n## Disk\n");
    await world.pass(10 * MINUTE);
    rmSync(file);
    symlinkSync("/etc/passwd", file);
    await world.pass(10 * MINUTE);
    const nothing = ["skipped", "heartbeat: HEARTBEAT.md asks for nothing"];
    expect(said()).toEqual([nothing, nothing, nothing]);
    expect(world.begun).toEqual([]);
    expect(world.jobs.findHeartbeat("nightly")).toEqual({ ok: true });
    rmSync(file);
    writeFileSync(file, "# Look at\n- is the disk full?\n");
    await world.pass(10 * MINUTE);
    expect(world.runs().at(-1)).toMatchObject({ status: "started" });
  });

  test("lets no writer of a FIFO go that stands in its file's place", async () => {
    const shop = join(world.folder, "shop");
    execFileSync("mkfifo", [join(shop, "HEARTBEAT.md")]);
    const writer = spawn("sh", ["-c", ": > began; : > HEARTBEAT.md; : > went-on"], { cwd: shop });
    try {
      await until("the writer to begin", () => existsSync(join(shop, "began")));
      await world.add(heartbeat);
      await world.pass(10 * MINUTE);
      expect(said()).toEqual([["skipped", "heartbeat: HEARTBEAT.md asks for nothing"]]);
      expect(existsSync(join(shop, "went-on"))).toBe(false);
      execFileSync("timeout", ["5", "cat", join(shop, "HEARTBEAT.md")]);
      await until("the writer to go on", () => existsSync(join(shop, "went-on")));
    } finally {
      writer.kill("SIGKILL");
    }
  });

  test("that is paused, or has not run when it should, is not well", async () => {
    await world.add(heartbeat);
    world.jobs.pause("nightly", OWNER);
    expect(world.jobs.findHeartbeat("nightly")).toEqual({ ok: false });
    await world.jobs.resume("nightly");
    expect(world.jobs.findHeartbeat("nightly")).toEqual({ ok: true });
    world.nowMs += 15 * MINUTE;
    expect(world.jobs.findHeartbeat("nightly")).toEqual({ ok: false });
    await world.add({ name: "other" });
    expect(world.jobs.findHeartbeat("other")).toBeUndefined();
  });

  test("that says nothing within five minutes of its turn is told of", async () => {
    await world.add(heartbeat);
    world.jobs.run("nightly", OWNER);
    await world.pass(0);
    const [run] = world.store.jobRuns.list(1, 1);
    if (!run) throw new Error("it has not begun");
    const [since, later] = [world.nowMs, world.nowMs + 5 * MINUTE];
    expect(whySilent(run, later, since)).toBeUndefined();
    expect(whySilent(run, later + 1, since)).toBe("it has not reported within 5 min");
    const row = { state: "active", nextDue: later * 2 } as never;
    expect(isWell(row, [run], later + 1)).toBe(false);
    // Instants that were skipped meanwhile do not hide the run that hangs, and neither does a spent cap.
    const skipped = { ...run, status: "skipped" as const, endedAt: later };
    const busy = { ...skipped, reason: "busy: the run before it goes on" };
    expect(isWell(row, [busy, busy, run], later + 1)).toBe(false);
    expect(isWell(row, Array(RUNS_LOOKED_AT).fill(busy), later + 1)).toBe(false);
    expect(
      isWell(row, [busy, { ...skipped, reason: "heartbeat: HEARTBEAT.md asks for nothing" }], later),
    ).toBe(true);
    expect(isWell(row, [{ ...skipped, reason: "cap: its runs of today have cost $5.00" }], later)).toBe(
      false,
    );
  });

  test("that reports after its silence was told is told too", async () => {
    await world.add(heartbeat);
    world.jobs.run("nightly", OWNER);
    await world.pass(0);
    const [run] = world.store.jobRuns.list(1, 1);
    if (!run) throw new Error("it has not begun");
    const job = world.store.jobs.get(run.jobId);
    for (let look = 0; look < 2; look++) world.news.tellSilence(job, run, "it has not reported within 5 min");
    world.news.tellReport(job, run, { ok: false, text: "the disk is full" });
    expect(world.news.list(true, 50).map(({ text }) => text)).toEqual([
      "⚠️ it has not reported within 5 min",
      "⚠️ the disk is full",
    ]);
  });

  test("is for what is due again and again, and for an agent", async () => {
    const once = { ...heartbeat, when: { type: "words" as const, words: "in 20m" } };
    await expect(world.add(once)).rejects.toThrow(/^heartbeat: .*again and again/);
    await expect(world.add({ heartbeat: true })).rejects.toThrow(/^heartbeat: is for an agent/);
  });
});
