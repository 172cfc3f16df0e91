/** Agent threads of an older threadmux, which ran the agent's program once a message: they go on with a runner. */
import { agentConfigSchema } from "../../shared/agent/config.ts";
import { emptyFold } from "../../shared/agent/fold.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import type { RunEnd } from "../threads/ending.ts";
import type { ThreadFiles } from "../threads/thread-files.ts";
import type { AgentThreads } from "./agent-threads.ts";
import type { AgentFolders } from "./folders.ts";
import { type LaunchOptions, messageLine, sourceOf, threadConfig } from "./requests.ts";

export interface UpgradeOptions {
  store: Store;
  files: ThreadFiles;
  folders: AgentFolders;
  agents: AgentThreads;
  launch: LaunchOptions;
  now: () => number;
}

/** Whether the thread has no folder yet. */
export function isOld({ store }: UpgradeOptions, { threadId, type }: StoredThread): boolean {
  return type === "agent" && store.agents.find(threadId) === undefined;
}

/** How the run of the thread's last message ended; undefined while it goes on. */
export function findOldEnd({ store, files }: UpgradeOptions, threadId: string): RunEnd | undefined {
  const turn = store.turns.find(threadId, "running") ?? store.turns.find(threadId, "starting");
  return turn && files.findRunEnd(threadId, turn.seq);
}

/**
 * Gives the thread a folder: messages that wait become lines of its inbox, under their old numbers. The conversation
 * goes on under its id. A message whose run was cut off is not sent again: nobody knows what it did.
 * The caller makes sure that no old run goes on.
 */
export function upgrade({ store, folders, agents, launch, now }: UpgradeOptions, thread: StoredThread): void {
  const { threadId, agentSession } = thread;
  const number = store.agents.takeNumber();
  const sessionId = store.turns.hasRun(threadId) ? (agentSession ?? undefined) : undefined;
  const agent = agentConfigSchema.parse({});
  folders.make(threadConfig(thread, { number, agent, launch, sessionId }));
  try {
    store.transaction(() => {
      const waiting = [];
      for (const state of ["waiting", "starting", "running"] as const) {
        for (let turn = store.turns.find(threadId, state); turn; turn = store.turns.find(threadId, state)) {
          if (state === "waiting") waiting.push(turn);
          store.turns.set(threadId, turn.seq, "done");
        }
      }
      store.threads.update(threadId, { status: "idle" });
      store.agents.insert({ threadId, number, status: "idle", fold: emptyFold() });
      const source = sourceOf(thread.createdBy);
      const lines = waiting.map(({ seq, text }) =>
        messageLine(text, { messageId: `turn-${seq}`, source }, now()),
      );
      // Within the transaction: a crash before its end makes the folder, and this file in it, anew.
      if (lines.length > 0) agents.get(threadId).append(lines);
    });
  } catch (error) {
    agents.forget(threadId);
    throw error;
  }
}
