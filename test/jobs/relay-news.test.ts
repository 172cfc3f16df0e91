/** News of jobs in a channel: each piece is told, or counted, once, wherever the relay is killed on its way. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { WIDE_LIMITS } from "../../local-discord/rate-limits.ts";
import { runLocalDiscord } from "../../local-discord/run.ts";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { startLossyLine } from "../support/lossy-line.ts";
import { relayConfigFor } from "../support/relay-config.ts";
import { bundleRelay, makeRelayProcess } from "../support/relay-process.ts";
import { startSidecar } from "../support/sidecar.ts";
import { until, untilValue } from "../support/wait.ts";

/** More than are told one by one. */
const MANY = 7;
const TOLD = /^PUT \/job-news\/\d+\/told$/;
const SUMMED = /^POST \/job-news\/sum$/;

/**
 * The requests at which a relay that finds news is killed: the n-th that fits. It has had the request's answer, or the
 * sidecar has not had the request.
 */
const POINTS = [
  { made: 3, request: TOLD, nth: 1, isDone: false, name: "after the first piece was said" },
  { made: MANY, request: SUMMED, nth: 1, isDone: true, name: "after the oldest were put together" },
  { made: MANY, request: TOLD, nth: 1, isDone: false, name: "after their number was said" },
] as const;

test("a relay that is killed at each point of telling counts no piece of news twice", async () => {
  const program = await bundleRelay({ isQuick: true });
  onTestFinished(() => program.remove());
  const sidecar = await startSidecar();
  onTestFinished(() => sidecar.close());
  mkdirSync(join(sidecar.reposDir, "shop"));
  const discord = await runLocalDiscord({ limits: WIDE_LIMITS });
  onTestFinished(() => discord.close());
  let point: { request: RegExp; left: number; isDone: boolean } | undefined;
  let hasCome = false;
  let isHeld = false;
  const line = await startLossyLine(sidecar.url, async (asked) => {
    // Meanwhile the relay is told of no news.
    if (isHeld && asked.startsWith("GET /job-news")) return "request is lost";
    if (!point?.request.test(asked)) return "passes";
    point.left -= 1;
    if (point.left > 0) return "passes";
    hasCome = true;
    return point.isDone ? "answer is lost" : "request is lost";
  });
  onTestFinished(() => line.close());
  const config = { ...relayConfigFor({ ...sidecar, url: line.url }, discord), pollIntervalMs: 100 };
  const relay = makeRelayProcess(program, config, sidecar.folders.home);
  onTestFinished(() => relay.stop());

  const jobs = new VmJobs(sidecar.client);
  const what = { type: "command", dir: "shop", command: 'echo "ran $THREADMUX_JOB_RUN"' } as const;
  await jobs.create({ name: "say", when: { type: "every", seconds: 86_400 }, what, overlap: "allow" });
  let made = 0;
  const make = async (count: number) => {
    for (let at = 0; at < count; at++) await jobs.run("say");
    made += count;
    await untilValue(
      "the runs to be over",
      () => jobs.listRuns("say", 500),
      (runs) => runs.length === made && runs.every(({ status }) => status === "done"),
    );
  };

  relay.start();
  for (const { made: count, request, nth, isDone, name } of POINTS) {
    isHeld = true;
    await make(count);
    point = { request, left: nth, isDone };
    hasCome = false;
    isHeld = false;
    await until(name, () => hasCome, { timeoutMs: 30_000 });
    await relay.kill9();
    point = undefined;
    await make(MANY);
    relay.start();
    await until("all to be told", async () => (await jobs.listUntold()).length === 0, { timeoutMs: 30_000 });
    const texts = discord.driver.messages(discord.channelId).map(({ content }) => content);
    const apart = texts.flatMap((text) => /\bran (\S+)/.exec(text)?.[1] ?? []);
    const counted = texts.map((text) => Number(/^📋 (\d+) more news/.exec(text)?.[1] ?? 0));
    expect(new Set(apart).size, name).toBe(apart.length);
    expect(apart.length + counted.reduce((sum, count) => sum + count, 0), name).toBe(made);
  }
});
