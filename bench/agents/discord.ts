/** Agent threads in Discord: how soon what happens is seen, asks and presses, and a relay that starts anew. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Round } from "../../agent/engines/demo/script.ts";
import { runLocalDiscord } from "../../local-discord/run.ts";
import { script, transcriptOf } from "../../test/support/agents.ts";
import { relayConfigFor } from "../../test/support/relay-config.ts";
import { bundleRelay, makeRelayProcess } from "../../test/support/relay-process.ts";
import { until } from "../../test/support/wait.ts";
import { percentile, type Row } from "../measure.ts";
import type { BenchAgent } from "./agent.ts";
import { measureAsks } from "./asks.ts";
import { atMost, makeThreads, type Sides, WAIT } from "./discord-sides.ts";
import { startAgents, untilIdle } from "./threads.ts";

/** What an agent says, once: of characters that stand in a message as they are. */
const EVENT = /event-\d+-\d+/g;
/** An agent's two events a second. */
const EVENT_MS = 500;

export interface DiscordOptions {
  agents: number;
  terminals: number;
  /** Events of each agent. */
  events: number;
  asks: number;
}

export async function rowDiscord(agent: BenchAgent, options: DiscordOptions): Promise<Row[]> {
  const program = await bundleRelay();
  const sidecar = await startAgents(agent, 600);
  const discord = await runLocalDiscord({ port: 0, limits: { identify: { windowMs: 0, total: 10_000 } } });
  const relay = makeRelayProcess(program, relayConfigFor(sidecar, discord), sidecar.folders.home);
  try {
    const sides = { sidecar, discord, relay };
    const [asking = "", ...threads] = await makeThreads(sides, { ...options, agents: options.agents + 1 });
    relay.start();
    await relay.untilReady();
    const rows = await visible(sides, threads, options);
    return [...rows, ...(await measureAsks(sides, asking, options.asks))];
  } finally {
    await relay.stop();
    await discord.close();
    await sidecar.close();
    program.remove();
  }
}

async function visible(
  sides: Sides,
  threads: readonly string[],
  { agents, terminals, events }: DiscordOptions,
): Promise<Row[]> {
  const { sidecar, discord, relay } = sides;
  const { driver } = discord;
  const seen = new Map<string, number>();
  const stop = driver.onEvent((event) => {
    if (event.type !== "message-create" && event.type !== "message-update") return;
    if (event.message.content.includes("@@[")) return; // the script, which names all of them
    for (const [name] of event.message.content.matchAll(EVENT))
      if (!seen.has(name)) seen.set(name, Date.now());
  });
  const rounds = (i: number): Round[] =>
    Array.from({ length: events }, (_, n) => ({
      text: `event-${i}-${n} is done.`,
      delayMs: EVENT_MS,
      ...(n < events - 1 && { tools: [{ name: "Read", input: { file_path: "README.md" } }] }),
    }));
  driver.stats.reset();
  for (const [i, id] of threads.entries()) {
    // Longer than a person's message may be; as if a person had written it, else the relay would quote it.
    const text = script("Work.", ...rounds(i));
    await sidecar.as(discord.you.id).sendInput(id, { text });
  }
  await sleep((events * EVENT_MS) / 2);
  const again = await restartRelay(sides, seen);
  for (const id of threads) await untilIdle(sidecar, id);
  await until("the last words", () => threads.every((_, i) => seen.has(`event-${i}-${events - 1}`)), WAIT);
  stop();
  const [taken, unseen] = await compare(sides, threads, seen, again.from, again.to);
  const { stats } = driver;
  const what = `${agents} agents + ${terminals} terminals`;
  const row = (figure: string, value: number, limit: number, unit = "") =>
    atMost(`${what}: ${figure}`, value, limit, unit);
  return [
    row("event → visible, p50 (ms)", percentile(taken, 50), 1_300, "ms"),
    row("event → visible, p95 (ms)", percentile(taken, 95), 2_500, "ms"),
    { name: `${what}: events only counted`, ours: unseen, baseline: undefined, isMet: true, bar: "" },
    row("429 answers", stats.rateLimited, 0),
    row("most requests in a second", stats.maxPerSecond(), 45),
    row("relay restarted in (s)", again.seconds, 5, "s"),
    row("requests to look up then", again.lookUps, 20),
  ].map((one) => (relay.isReady() ? one : { ...one, isMet: false }));
}

/** What the transcripts say against what was seen; not what happened while no relay was there. */
async function compare(
  { sidecar }: Sides,
  threads: readonly string[],
  seen: ReadonlyMap<string, number>,
  from: number,
  to: number,
): Promise<[number[], number]> {
  const taken: number[] = [];
  let unseen = 0;
  for (const id of threads) {
    for (const event of await transcriptOf(sidecar, id)) {
      const name = event.type === "agent_message" ? event.text.match(EVENT)?.[0] : undefined;
      const at = Date.parse(event.ts);
      if (name === undefined || (at > from - 3_000 && at < to)) continue;
      const shown = seen.get(name);
      if (shown === undefined) unseen++;
      else taken.push(shown - at);
    }
  }
  return [taken.sort((a, b) => a - b), unseen];
}

/** Until something is seen that was not before. */
async function restartRelay({ discord, relay }: Sides, seen: ReadonlyMap<string, number>) {
  const { driver } = discord;
  await relay.kill9();
  const [requests, shown] = [driver.stats.requests.length, seen.size];
  const from = Date.now();
  relay.start();
  await until("the relay to write again", () => seen.size > shown, WAIT);
  const to = Date.now();
  const lookUps = driver.stats.requests.slice(requests).filter(({ method }) => method === "GET").length;
  return { from, to, seconds: (to - from) / 1_000, lookUps };
}
