/** What a program prints or is called must not hold up the bot, nor become anything but text. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Everything, startEverything } from "./support/relay.ts";
import { until } from "./support/wait.ts";

let all: Everything;
beforeAll(async () => {
  all = await startEverything();
});
afterAll(() => all?.close());

/** What a terminal has most work with, 20 MB of it. */
const FLOOD = "yes $'\\ec\\e#8\\e[2J\\e[999T\\e[999L' | head -c 20000000; exec sleep 1000";

test("a flood of what costs most: other threads are shown, and /done ends it soon", {
  timeout: 90_000,
}, async () => {
  const hostile = await all.openTerminal(FLOOD);
  await until("the flood", async () => (await all.sidecar.client.getThread(hostile)).offset > 1_000_000);
  const startedAt = performance.now();
  const quiet = await all.openTerminal("echo qu''iet; exec cat");
  await all.untilShown(quiet, "quiet");
  all.discord.driver.post(all.you, quiet, "still here");
  await all.untilShown(quiet, "still here");
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  const { content } = await all.discord.driver.command(all.you, hostile, "done").reply({ timeoutMs: 40_000 });
  expect(content).toContain("⏹ Ended");
  expect((await all.sidecar.client.getThread(hostile)).status).toBe("killed");
  await all.discord.driver.command(all.you, quiet, "done").reply();
});
