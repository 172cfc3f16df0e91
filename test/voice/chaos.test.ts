/** Never silent, never twice: each message to a channel's agent comes to its right end, whatever is killed meanwhile. */
import { beforeAll, expect, test } from "vitest";
import { WIDE_LIMITS } from "../../local-discord/rate-limits.ts";
import { runLocalDiscord } from "../../local-discord/run.ts";
import { Vm } from "../../relay/sidecar/vm.ts";
import { seededRandom } from "../../shared/random.ts";
import { startModel } from "../agents/model.ts";
import { inFull, isFull } from "../support/faults.ts";
import { RUN_VARIABLE } from "../support/folders.ts";
import { aDiscordId } from "../support/ids.ts";
import { envOf } from "../support/own-agent.ts";
import { relayConfigFor } from "../support/relay-config.ts";
import { bundleRelay, makeRelayProcess, type RelayProgram } from "../support/relay-process.ts";
import { spawnSidecar } from "../support/sidecar.ts";
import { chaoticModel, KINDS, VoiceChaos, type VoiceVictim } from "../support/voice-chaos.ts";
import { until } from "../support/wait.ts";

const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));
const VICTIMS: readonly VoiceVictim[] = [
  "runner",
  "sidecar",
  "relay",
  "engine",
  "runner",
  "sidecar",
  "relay",
];

let program: RelayProgram;
beforeAll(async () => {
  program = await bundleRelay({ isQuick: !isFull });
  return () => program.remove();
});

test("messages in bursts while runner, sidecar and relay are killed: none without an end, none with two", {
  timeout: inFull(1_800_000, 180_000),
}, async ({ onTestFinished }) => {
  console.log(`voice under faults: SEED=${SEED}`);
  const model = await startModel({ say: chaoticModel });
  const env = envOf("anthropic", model.url);
  const sidecar = await spawnSidecar({ ...env, THREAD_ENV: [RUN_VARIABLE, ...Object.keys(env)].join(",") });
  const limits = { ...(isFull ? {} : WIDE_LIMITS), identify: { windowMs: 0, total: 10_000 } };
  const discord = await runLocalDiscord({ port: 0, users: KINDS.map((name) => ({ name })), limits });
  const allowedUserIds = new Set(discord.users.map(({ id }) => id));
  const config = { ...relayConfigFor(sidecar, discord), allowedUserIds, pollIntervalMs: 250 };
  const relay = makeRelayProcess(program, config, sidecar.folders.home);
  onTestFinished(async () => {
    await relay.stop();
    await discord.close();
    await sidecar.close();
    await model.close();
  });
  relay.start();
  await relay.untilReady();
  const vm = new Vm(sidecar.client);
  const channels = ["ops", "dev"].map((name) => discord.driver.createChannel(name).id);
  for (const id of channels) await vm.channels.set(aDiscordId(id), { mode: "main", engine: "own", dir: "." });
  await until("the channels' names", async () => {
    const named = (await vm.channels.list()).channels.filter(({ name }) => name === "ops" || name === "dev");
    return named.length === 2;
  });
  const chaos = new VoiceChaos({
    ...{ sidecar, relay, discord, channels, random: seededRandom(SEED) },
    inputs: inFull(500, 36),
    kills: inFull(Array.from({ length: 10 }, () => VICTIMS).flat(), VICTIMS),
    context: () => JSON.stringify(model.requests.at(-1)?.messages),
  });
  await chaos.begin(async () => (await vm.voice.findMain(channels[0] ?? "")).threadId);
  await chaos.run();
  expect(chaos.findFaults(), `seed ${SEED}`).toEqual([]);
});
