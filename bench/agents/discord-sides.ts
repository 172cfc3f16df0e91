/** Sidecar, relay and local Discord, and the rows that are measured over all of them. */
import type { LocalDiscord } from "../../local-discord/run.ts";
import { openAgent } from "../../test/support/agents.ts";
import type { RelayProcess } from "../../test/support/relay-process.ts";
import type { SpawnedSidecar } from "../../test/support/sidecar.ts";
import type { Row } from "../measure.ts";
import { printer } from "../relay/load.ts";
import { answer } from "./agent.ts";
import { untilIdle } from "./threads.ts";

export const WAIT = { timeoutMs: 60_000, intervalMs: 2 };

export interface Sides {
  sidecar: SpawnedSidecar;
  discord: LocalDiscord;
  relay: RelayProcess;
}

export const atMost = (name: string, ours: number, limit: number, unit: string): Row => ({
  name,
  ours,
  baseline: undefined,
  isMet: ours <= limit,
  bar: `≤ ${limit} ${unit}`.trimEnd(),
});

/**
 * Threads of both kinds, agents that have answered once. Before the relay is started: it looks for threads that others
 * made only then.
 * @returns the agents' ids
 */
export async function makeThreads(
  { discord, sidecar }: Pick<Sides, "discord" | "sidecar">,
  { agents, terminals }: { agents: number; terminals: number },
): Promise<string[]> {
  const make = (title: string) => discord.driver.createThread(discord.you.id, title).id;
  await sidecar.client.putPeople([{ id: discord.you.id, role: "maker" }]);
  for (let i = 0; i < terminals; i++) {
    const threadId = make(`terminal ${i}`);
    const command = printer(i);
    const home = { channelId: threadId };
    await sidecar.as(discord.you.id).createThread({ threadId, type: "terminal", dir: ".", command, home });
  }
  const ids = Array.from({ length: agents }, (_, i) => make(`agent ${i}`));
  for (const id of ids) await openAgent(sidecar, id, answer("begin"), { home: { channelId: id } });
  for (const id of ids) await untilIdle(sidecar, id);
  return ids;
}
