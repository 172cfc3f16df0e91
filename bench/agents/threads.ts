/** Sidecars with agent threads for the bench's rows, and transcripts of any length. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { threadPath } from "../../shared/agent/paths.ts";
import { type SpawnedSidecar, spawnSidecar } from "../../test/support/sidecar.ts";
import { until } from "../../test/support/wait.ts";
import { answer, type BenchAgent } from "./agent.ts";

const WAIT = { timeoutMs: 60_000, intervalMs: 1 };

export async function withAgents<T>(
  agent: BenchAgent,
  idleSeconds: number,
  work: (sidecar: SpawnedSidecar) => Promise<T>,
): Promise<T> {
  const sidecar = await startAgents(agent, idleSeconds);
  try {
    return await work(sidecar);
  } finally {
    await sidecar.close();
  }
}

export function startAgents(
  { program, env }: Pick<BenchAgent, "program" | "env">,
  idleSeconds: number,
  more: Record<string, string> = {},
): Promise<SpawnedSidecar> {
  return spawnSidecar({
    ...env,
    // RUN_VARIABLE is what the tests' own environment passes on.
    THREAD_ENV: ["THREADMUX_TEST", ...Object.keys(env)].join(","),
    AGENT_PROGRAM: program,
    AGENT_IDLE_SECONDS: String(idleSeconds),
    MAX_THREADS: "1000",
    MAX_AGENTS: "1000",
    ...more,
  });
}

export const folderOf = ({ stateDir }: SpawnedSidecar, threadId: string) =>
  join(stateDir, "threads", threadId);

/** Milliseconds from the message until the agent asks its model; returns when it has answered. */
export async function untilAsked(
  agent: BenchAgent,
  sidecar: SpawnedSidecar,
  threadId: string,
  text: string,
): Promise<number> {
  const folder = folderOf(sidecar, threadId);
  const before = agent.countRequests(folder);
  const startedAt = performance.now();
  const sent = sidecar.client.sendInput(threadId, { text: answer(text) });
  await until("the model to be asked", () => agent.countRequests(folder) > before, WAIT);
  const taken = performance.now() - startedAt;
  await sent;
  await untilIdle(sidecar, threadId);
  return taken;
}

export const untilIdle = (sidecar: SpawnedSidecar, threadId: string) =>
  until("the answer", async () => (await sidecar.client.getThread(threadId)).status === "idle", {
    timeoutMs: 60_000,
  });

/** Until no process of it is left. */
export const untilCold = (sidecar: SpawnedSidecar, threadId: string) =>
  until("the runner's end", async () => !(await sidecar.client.getThread(threadId)).processRunning, {
    timeoutMs: 60_000,
  });

/** Makes a transcript as long as a long life does: turns of a call each. */
export function lengthen(folder: string, events: number): void {
  const file = threadPath(folder, "transcript");
  let seq = existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
  const ts = new Date().toISOString();
  const lines: string[] = [];
  const add = (type: string, fields: object) => {
    seq++;
    lines.push(JSON.stringify({ seq, id: `r${seq}.0`, ts, type, ...fields }));
  };
  for (let turn = 0; lines.length < events; turn++) {
    const [turnId, toolCallId, at] = [`t${turn}`, `c${turn}`, `u${turn}`];
    add("turn_start", { turnId, cause: "task", deliveryIds: [] });
    add("agent_message", { messageId: `m${turn}`, at, text: "Reading the file first." });
    add("tool_call", { toolCallId, at, name: "Read", title: "Read a.ts", kind: "read", rawInput: {} });
    add("tool_call_update", { toolCallId, at, status: "completed", durationMs: 5 });
    add("turn_end", { turnId, stopReason: "end_turn", durationMs: 20 });
  }
  appendFileSync(file, `${lines.join("\n")}\n`);
}
