/** Asks of agents in Discord while relay, sidecar and engine are killed: each is decided once, as its buttons show. */
import { beforeAll, expect, type TestContext, test } from "vitest";
import { runLocalDiscord } from "../../local-discord/run.ts";
import { seededRandom } from "../../shared/random.ts";
import { SIEGE_ENV } from "../support/agent-siege.ts";
import { AskStorm, type StormOptions } from "../support/ask-storm.ts";
import { AgentTalk } from "../support/discord-agents.ts";
import { inFull } from "../support/faults.ts";
import { relayConfigFor } from "../support/relay-config.ts";
import { bundleRelay, makeRelayProcess, type RelayProgram } from "../support/relay-process.ts";
import { spawnSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));

let program: RelayProgram;
beforeAll(async () => {
  console.log(`asks under faults: SEED=${SEED}`);
  program = await bundleRelay();
  return () => program.remove();
});

async function openStorm(
  { onTestFinished }: Pick<TestContext, "onTestFinished">,
  wanted: Pick<StormOptions, "asks" | "kills" | "threads" | "victims" | "timeoutMs">,
): Promise<AskStorm> {
  const sidecar = await spawnSidecar(SIEGE_ENV);
  const limits = { identify: { windowMs: 0, total: 10_000 } };
  const discord = await runLocalDiscord({ port: 0, users: [{ name: "Robin" }], limits });
  const people = discord.users.map(({ id }) => id);
  const config = {
    ...relayConfigFor(sidecar, discord),
    allowedUserIds: new Set(people),
    pollIntervalMs: 250,
  };
  const relay = makeRelayProcess(program, config, sidecar.folders.home);
  onTestFinished(async () => {
    await relay.stop();
    await discord.close();
    await sidecar.close();
  });
  relay.start();
  await relay.untilReady();
  const talk = new AgentTalk({ discord, you: discord.you.id });
  return new AskStorm({ sidecar, relay, talk, people, random: seededRandom(SEED), ...wanted });
}

async function expectRight(storm: AskStorm, wanted: { asks: number; kills: number }): Promise<void> {
  await storm.run();
  const { askCount, presses, goOns, killed } = storm;
  console.log(JSON.stringify({ askCount, presses, goOns, killed }));
  expect(askCount).toBeGreaterThanOrEqual(wanted.asks);
  expect(Object.values(killed).reduce((sum, count) => sum + count, 0)).toBe(wanted.kills);
  // The last words may still be on their way: what takes the buttons away goes before them.
  const isRight = () => storm.findFaults().length === 0;
  await until("all of it to be shown", isRight, { timeoutMs: 30_000 }).catch(() => undefined);
  expect(storm.findFaults(), `seed ${SEED}`).toEqual([]);
}

test("the relay is killed while asks are open: each is asked in one message, and decided once", {
  timeout: inFull(900_000, 180_000),
}, async (context) => {
  const wanted = { asks: inFull(40, 4), kills: inFull(20, 2) };
  const timeoutMs = inFull(840_000, 150_000);
  const storm = await openStorm(context, { ...wanted, threads: 2, victims: ["relay"], timeoutMs });
  await expectRight(storm, wanted);
});

// Promise: R7
test("relay, sidecar and engine are killed while asks and questions are open: buttons show what was done", {
  timeout: inFull(1_800_000, 240_000),
}, async (context) => {
  const wanted = { asks: inFull(200, 8), kills: inFull(60, 3) };
  const timeoutMs = inFull(1_700_000, 200_000);
  const storm = await openStorm(context, {
    ...wanted,
    threads: inFull(8, 4),
    victims: ["relay", "sidecar", "engine"],
    timeoutMs,
  });
  await expectRight(storm, wanted);
});
