/** Never silent, never twice: each message to a channel's agent comes to its right end, whatever is killed meanwhile. */
import { beforeAll, expect, test } from "vitest";
import { WIDE_LIMITS } from "../../local-discord/rate-limits.ts";
import { runLocalDiscord } from "../../local-discord/run.ts";
import { Vm } from "../../relay/sidecar/vm.ts";
import { seededRandom } from "../../shared/random.ts";
import { type Model, startModel } from "../agents/model.ts";
import { inFull, isFull } from "../support/faults.ts";
import { makeFolder, RUN_VARIABLE } from "../support/folders.ts";
import { aDiscordId } from "../support/ids.ts";
import { envOf } from "../support/own-agent.ts";
import { relayConfigFor } from "../support/relay-config.ts";
import { bundleRelay, makeRelayProcess, type RelayProgram } from "../support/relay-process.ts";
import { freePort, spawnSidecar } from "../support/sidecar.ts";
import { VoiceChaos, type VoiceVictim } from "../support/voice-chaos.ts";
import { chaoticModel, KINDS } from "../support/voice-model.ts";
import { until, untilValue } from "../support/wait.ts";

const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));
/** Its long form may be run in pieces. */
const INPUTS = inFull(Number(process.env["INPUTS"] ?? 500), 36);
/** The newest are enough: each holds all that was said before. */
const KEPT_REQUESTS = 20;
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

test("inputs of five sources in bursts while runner, engine, sidecar and relay are killed: none without its end, none with two", {
  timeout: inFull(3_600_000, 180_000),
}, async ({ onTestFinished }) => {
  console.log(`voice under faults: SEED=${SEED}`);
  const folder = makeFolder();
  const model = await startModel({ say: chaoticModel({ folder: folder.path, hasForeground: isFull }) });
  const hookPort = await freePort();
  const env = envOf("anthropic", model.url);
  const sidecar = await spawnSidecar({
    ...env,
    THREAD_ENV: [RUN_VARIABLE, ...Object.keys(env)].join(","),
    ...{ HOOK_HOST: "127.0.0.1", HOOK_PORT: `${hookPort}`, MAX_THREADS: "200" },
  });
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
    folder.remove();
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
    ...{ sidecar, relay, discord, channels, folder: folder.path, random: seededRandom(SEED) },
    hookUrl: `http://127.0.0.1:${hookPort}`,
    inputs: INPUTS,
    kills: inFull(Array.from({ length: INPUTS / 50 }, () => VICTIMS).flat(), VICTIMS),
    context: () => contextOf(model),
  });
  await chaos.begin(async () => (await vm.voice.findMain(channels[0] ?? "")).threadId);
  await chaos.run();
  const figures = await chaos.figures();
  console.log(`voice under faults: ${JSON.stringify(figures)}`);
  // The last words may be on their way to Discord yet: one that is lost never comes.
  await untilValue(
    `no fault, seed ${SEED}`,
    () => chaos.findFaults(),
    ({ length }) => length === 0,
  );
  // Few inputs are few turns, and how many of them share one is the machine's doing.
  expect(figures.heldTurns / figures.turns).toBeGreaterThanOrEqual(inFull(0.5, 0.2));
});

/** The newest request of the channel's agent: its children have conversations of their own. */
function contextOf({ requests }: Model): string {
  const own = requests.findLast(({ messages }) => JSON.stringify(messages[0]).includes("n0n"));
  const found = JSON.stringify(own?.messages);
  requests.splice(0, Math.max(0, requests.length - KEPT_REQUESTS));
  return found;
}
