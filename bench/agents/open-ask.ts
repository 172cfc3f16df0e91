/**
 * Message → the model's request of agents that share one place, while another agent's ask is open, beside the same
 * without.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { openAgent, script } from "../../test/support/agents.ts";
import type { SpawnedSidecar } from "../../test/support/sidecar.ts";
import { until } from "../../test/support/wait.ts";
import { percentile, type Row, ratioRow } from "../measure.ts";
import { answer, type BenchAgent } from "./agent.ts";
import { startAgents, untilAsked, untilIdle } from "./threads.ts";

const AGENTS = 4;
/** An engine that is warm: what is measured is the wait for a place. */
const IDLE_SECONDS = 600;
const REST_MS = 100;

/** @param messages of each way; the ways take turns, so that what else the machine does is the same for both */
export async function rowOpenAsk(agent: BenchAgent, messages: number): Promise<Row[]> {
  const sidecars: SpawnedSidecar[] = [];
  const begin = async (hasAsk: boolean) => {
    const sidecar = await startAgents(agent, IDLE_SECONDS, { MAX_AGENTS: "1" });
    sidecars.push(sidecar);
    if (hasAsk) {
      const call = { name: "Bash", input: { command: "touch asked" } };
      await openAgent(sidecar, "asker", script("Ask", { tools: [call] }, { text: "Done." }));
      await until("the ask", async () => (await sidecar.client.getThread("asker")).status === "waiting");
    }
    for (let n = 0; n < AGENTS; n++) {
      await openAgent(sidecar, `agent${n}`, answer("first"));
      await untilIdle(sidecar, `agent${n}`);
    }
    return { sidecar, taken: [] as number[] };
  };
  try {
    const [open, none] = [await begin(true), await begin(false)];
    for (let i = 0; i < messages; i++) {
      for (const { sidecar, taken } of i % 2 === 0 ? [open, none] : [none, open]) {
        await sleep(REST_MS);
        taken.push(await untilAsked(agent, sidecar, `agent${i % AGENTS}`, `message ${i}`));
      }
    }
    if ((await open.sidecar.client.getThread("asker")).status !== "waiting")
      throw new Error("the ask was not open for the whole run");
    for (const { taken } of [open, none]) taken.sort((a, b) => a - b);
    return [
      { p: 50, atMost: 1.1 },
      { p: 95, atMost: 1.25 },
    ].map(({ p, atMost }) =>
      ratioRow(
        `${agent.name}: message → model, one place, another's ask open, p${p} (ms)`,
        percentile(open.taken, p),
        percentile(none.taken, p),
        { atMost },
      ),
    );
  } finally {
    for (const sidecar of sidecars) await sidecar.close();
  }
}
