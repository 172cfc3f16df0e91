/**
 * An agent that hears a channel: the time from the end of a call until its model is asked with the input that came
 * meanwhile, beside the same without an input; from an input at rest until its model is asked, beside the agent's program
 * once a message; and what is left of it at rest.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startModel } from "../../test/agents/model.ts";
import { runnersOf } from "../../test/support/agent-siege.ts";
import { script } from "../../test/support/agents.ts";
import { envOf } from "../../test/support/own-agent.ts";
import type { SpawnedSidecar } from "../../test/support/sidecar.ts";
import { until } from "../../test/support/wait.ts";
import { percentile, type Row } from "../measure.ts";
import { answer, type BenchAgent, naiveHome } from "./agent.ts";
import { folderOf, startAgents, untilAsked, untilCold, untilIdle } from "./threads.ts";

const THREAD = "hears";
const REST_MS = 300;
/** A call that ends when a file is there looks for it so often. */
const LOOK_SECONDS = 0.005;

export async function rowHearing(agent: BenchAgent, folder: string, inputs: number): Promise<Row[]> {
  const rows = [...(await rowWake(agent, folder, inputs)), ...(await rowBoundary(inputs))];
  return rows.map((row) => ({ ...row, name: `an agent that hears, ${row.name}` }));
}

const sorted = (taken: readonly number[]) => [...taken].sort((a, b) => a - b);

async function rowWake(agent: BenchAgent, folder: string, inputs: number): Promise<Row[]> {
  const home = naiveHome(join(folder, "hearing"));
  const session = randomUUID();
  await agent.runOnce(home, session, "first", true);
  const sidecar = await startAgents(agent, 1);
  try {
    await openVoice(sidecar, {});
    const [woken, naive]: [number[], number[]] = [[], []];
    for (let n = 0; n < inputs; n++) {
      await untilCold(sidecar, THREAD);
      await sleep(REST_MS);
      woken.push(await untilAsked(agent, sidecar, THREAD, `wakes it ${n}`));
      await untilCold(sidecar, THREAD);
      naive.push(await agent.runOnce(home, session, `naive ${n}`, false));
    }
    const [ours, bare] = [percentile(sorted(woken), 50), percentile(sorted(naive), 50)];
    const left = runnersOf(folderOf(sidecar, THREAD)).length;
    const wake = { name: `${agent.name}: input at rest → model, p50 (ms)`, ours, baseline: bare };
    return [
      { ...wake, isMet: ours - bare <= 500, bar: "+ 500 ms" },
      { name: "processes at rest", ours: left, baseline: undefined, isMet: left === 0, bar: "0" },
    ];
  } finally {
    await sidecar.close();
  }
}

/** With the engine `own`, whose model tells what is in each request. */
async function rowBoundary(inputs: number): Promise<Row[]> {
  const model = await startModel();
  const env = { ...envOf("anthropic", model.url), ALLOW_BYPASS: "1" };
  const sidecar = await startAgents({ program: "own", env }, 600);
  try {
    await openVoice(sidecar, { engine: "own" as const, permissionMode: "bypassPermissions" });
    const newest = () => JSON.stringify(model.requests.at(-1)?.messages);
    const afterCall = async (text?: string) => {
      const go = join(sidecar.folders.path, "go");
      rmSync(go, { force: true });
      const command = `until [ -e ${go} ]; do sleep ${LOOK_SECONDS}; done`;
      const asked = script("waits", { tools: [{ name: "bash", input: { command } }] }, { text: "ok" });
      await sidecar.client.sendInput(THREAD, { text: asked });
      const look = async () => await sidecar.client.getThread(THREAD);
      await until("the call to run", async () => (await look()).doing?.includes("until"));
      if (text !== undefined) await sidecar.client.sendInput(THREAD, { text });
      await sleep(REST_MS);
      const before = model.requests.length;
      const startedAt = performance.now();
      writeFileSync(go, "");
      await until("the model to be asked", () => model.requests.length > before, { intervalMs: 1 });
      const taken = performance.now() - startedAt;
      if (text !== undefined && !newest().includes(text))
        throw new Error(`not heard at the boundary: ${text}`);
      await untilIdle(sidecar, THREAD);
      return taken;
    };
    const [heard, unheard]: [number[], number[]] = [[], []];
    for (let n = 0; n < inputs; n++) {
      heard.push(await afterCall(`heard-${n}-`));
      unheard.push(await afterCall());
    }
    const [ours, baseline] = [percentile(sorted(heard), 95), percentile(sorted(unheard), 95)];
    const name = "own: a call's end → model with what was written, p95 (ms)";
    return [{ name, ours, baseline, isMet: ours <= 300, bar: "≤ 300 ms" }];
  } finally {
    await sidecar.close();
    await model.close();
  }
}

async function openVoice(sidecar: SpawnedSidecar, more: object): Promise<void> {
  mkdirSync(join(sidecar.reposDir, THREAD));
  const agent = { voice: "message" as const, ...more };
  const request = { threadId: THREAD, type: "agent", dir: THREAD, command: answer("first") } as const;
  await sidecar.client.createThread({ ...request, agent });
  await untilIdle(sidecar, THREAD);
}
