/** Message → the model's request: with the engine warm, and cold, beside the agent's program once a message. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { openAgent } from "../../test/support/agents.ts";
import type { SpawnedSidecar } from "../../test/support/sidecar.ts";
import { percentile, type Row, ratioRow } from "../measure.ts";
import { answer, type BenchAgent, naiveHome } from "./agent.ts";
import { folderOf, lengthen, startAgents, untilAsked, untilCold, untilIdle } from "./threads.ts";

const THREAD = "bench";
/** After its answer an engine still works for a while, which would slow the next way. */
const REST_MS = 500;

export interface MessagesOptions {
  agent: BenchAgent;
  folder: string;
  /** Of each way. */
  messages: number;
  /** Of the long transcript. */
  events: number;
}

/** The ways take turns, so that what else the machine does is the same for all of them. */
export async function rowMessages({ agent, folder, messages, events }: MessagesOptions): Promise<Row[]> {
  const ways: Record<string, Way> = {};
  try {
    ways["naive"] = await naive(agent, folder);
    ways["warm"] = await warm(agent);
    ways["cold"] = await cold(agent, 0);
    ways["long"] = await cold(agent, events);
    const taken: Record<string, number[]> = {};
    for (let i = 0; i < messages; i++) {
      for (const [name, { send }] of Object.entries(ways)) {
        await sleep(REST_MS);
        const list = taken[name] ?? [];
        taken[name] = list;
        list.push(await send(`message ${i}`));
      }
    }
    const p50 = (name: string) =>
      percentile(
        (taken[name] ?? []).sort((a, b) => a - b),
        50,
      );
    const row = (what: string, name: string, atMost: number) => {
      const title = `${agent.name}: message → model, ${what}, p50 (ms)`;
      const judged = ratioRow(title, p50(name), p50("naive"), { atMost });
      // The bars are about the real program: the stand-in starts so fast that Node's own start outweighs it.
      return agent.isReal ? judged : { ...judged, isMet: true, bar: "" };
    };
    return [row("warm", "warm", 0.15), row("cold", "cold", 1.2), row(`cold, ${events} events`, "long", 1.2)];
  } finally {
    for (const { close } of Object.values(ways)) await close();
  }
}

interface Way {
  /** @returns milliseconds until the model is asked */
  send: (text: string) => Promise<number>;
  close: () => Promise<void>;
}

async function naive(agent: BenchAgent, folder: string): Promise<Way> {
  const home = naiveHome(folder);
  const session = randomUUID();
  await agent.runOnce(home, session, "first", true);
  return { send: (text) => agent.runOnce(home, session, text, false), close: async () => undefined };
}

async function warm(agent: BenchAgent): Promise<Way> {
  const sidecar = await begin(agent, 600);
  return { send: (text) => untilAsked(agent, sidecar, THREAD, text), close: sidecar.close };
}

/** @param events of its transcript, beside what the messages come to */
async function cold(agent: BenchAgent, events: number): Promise<Way> {
  const sidecar = await begin(agent, 1);
  await untilCold(sidecar, THREAD);
  if (events > 0) {
    await sidecar.stop();
    lengthen(folderOf(sidecar, THREAD), events);
    await sidecar.start();
    await untilAsked(agent, sidecar, THREAD, "the first one reads all"); // later ones have its snapshot
    await untilCold(sidecar, THREAD);
  }
  const send = async (text: string) => {
    const taken = await untilAsked(agent, sidecar, THREAD, text);
    await untilCold(sidecar, THREAD); // an engine that ends would disturb the next way's message
    return taken;
  };
  return { send, close: sidecar.close };
}

async function begin(agent: BenchAgent, idleSeconds: number): Promise<SpawnedSidecar> {
  const sidecar = await startAgents(agent, idleSeconds);
  await openAgent(sidecar, THREAD, answer("first"));
  await untilIdle(sidecar, THREAD);
  return sidecar;
}
