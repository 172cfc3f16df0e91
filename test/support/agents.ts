/** What the fake agent program (fixtures/fake-agent.mjs) leaves behind, and threads that run it. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Thread } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import type { VmConfig } from "../../vm/config.ts";
import { untilValue } from "./wait.ts";

export const FAKE_AGENT = fileURLToPath(new URL("../fixtures/fake-agent.mjs", import.meta.url));

export const FAKE_AGENT_CONFIG: Partial<VmConfig> = {
  maxThreads: 100,
  agent: { program: FAKE_AGENT, args: ["--permission-mode", "acceptEdits"] },
};

export interface AgentRecord {
  state: "begun" | "done";
  args: string[];
  text: string;
  pid: number;
}

/** Opens an agent's thread in a directory of its own, which is named after the thread. */
export async function openAgent(
  sidecar: { client: SidecarClient; reposDir: string },
  threadId: string,
  prompt: string,
): Promise<void> {
  mkdirSync(join(sidecar.reposDir, threadId), { recursive: true });
  await sidecar.client.createThread({
    threadId,
    type: "agent",
    dir: threadId,
    command: prompt,
    createdBy: "42",
  });
}

/** Every turn that the agent of this directory has begun, in order. */
export function turnsOf({ reposDir }: { reposDir: string }, dir: string): AgentRecord[] {
  return records(reposDir, dir).filter((record) => record.state === "begun");
}

export function endedTurnsOf({ reposDir }: { reposDir: string }, dir: string): AgentRecord[] {
  return records(reposDir, dir).filter((record) => record.state === "done");
}

function records(reposDir: string, dir: string): AgentRecord[] {
  const file = join(reposDir, dir, "agent-turns.jsonl");
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as AgentRecord);
}

/** Waits until no turn runs and no message waits. */
export async function untilIdle(
  client: SidecarClient,
  threadId: string,
  timeoutMs = 15_000,
): Promise<Thread> {
  const isIdle = (thread: Thread) => thread.status === "idle" && thread.waiting === 0;
  return untilValue(`agent ${threadId} to be idle`, () => client.getThread(threadId), isIdle, {
    timeoutMs,
    intervalMs: 50,
  });
}
