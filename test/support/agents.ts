/** Agent threads for tests: the stand-in as the agent's program, and what becomes of a thread. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Round } from "../../agent/engines/demo/script.ts";
import { parseEvent, type ThreadEvent } from "../../shared/agent/events.ts";
import type { InitialMessage } from "../../shared/agent/initial-messages.ts";
import type { CreateRequest, Thread } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import type { VmConfig } from "../../vm/config.ts";
import { programFile } from "./programs.ts";
import { untilValue } from "./wait.ts";

export const STAND_IN = programFile("agent/engines/demo");

/** Settings of a sidecar whose agent is the stand-in. */
export const STAND_IN_CONFIG: Partial<VmConfig> = { maxThreads: 100, maxAgents: 100, agent: standIn() };
/** As with ALLOW_BYPASS=1. */
export const BYPASS_CONFIG: Partial<VmConfig> = {
  ...STAND_IN_CONFIG,
  agent: { ...standIn(), allowBypass: true },
};

export function standIn(timeouts: Partial<VmConfig["agent"]["timeouts"]> = {}): VmConfig["agent"] {
  return {
    program: STAND_IN,
    args: [],
    timeouts: { idleSeconds: 120, askParkMinutes: 60, lockSeconds: 30, ...timeouts },
  };
}

/** A message that tells the stand-in what to do: one round after the other. */
export function script(text: string, ...rounds: Round[]): string {
  return rounds.length === 0 ? text : `${text} @@${JSON.stringify(rounds)}`;
}

interface Side {
  client: SidecarClient;
  reposDir: string;
}

/** Opens an agent thread in a directory of its own, which is named after the thread. */
export async function openAgent(
  { client, reposDir }: Side,
  threadId: string,
  prompt: string,
  more: {
    agent?: { limits?: object; outputSchema?: Record<string, unknown>; permissionMode?: string };
    initialMessages?: InitialMessage[];
    home?: CreateRequest["home"];
  } = {},
): Promise<void> {
  mkdirSync(join(reposDir, threadId), { recursive: true });
  const request = { threadId, type: "agent", dir: threadId, command: prompt } as const;
  await client.createThread({ ...request, ...more });
}

/** The whole transcript. */
export async function transcriptOf({ client }: Side, threadId: string): Promise<ThreadEvent[]> {
  const events: ThreadEvent[] = [];
  for (let since = 0, more = true; more; ) {
    const { transcripts } = await client.readThreads({ since: {}, transcripts: { [threadId]: since } });
    const reply = transcripts[threadId];
    if (!reply) return events;
    for (const line of reply.lines.split("\n").filter((line) => line !== "")) {
      const event = parseEvent(line);
      if (event) events.push(event);
    }
    since = reply.offset;
    more = reply.more;
  }
  return events;
}

/** What the agent has said, in order. */
export async function wordsOf(side: Side, threadId: string): Promise<string[]> {
  const events = await transcriptOf(side, threadId);
  return events.flatMap((event) => (event.type === "agent_message" ? [event.text] : []));
}

export function untilStatus(
  { client }: Side,
  threadId: string,
  status: Thread["status"],
  timeoutMs = 20_000,
): Promise<Thread> {
  const isSo = (thread: Thread) => thread.status === status && thread.waiting === 0;
  return untilValue(`agent ${threadId} to be ${status}`, () => client.getThread(threadId), isSo, {
    timeoutMs,
    intervalMs: 50,
  });
}
