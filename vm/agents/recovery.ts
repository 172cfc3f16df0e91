/** At the sidecar's start: what an earlier one was killed in the middle of. */
import { ENGINE_FOLDER_MARKER } from "../../shared/agent/markers.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { killMarked } from "../processes/kill-marked.ts";
import { listProcesses, readProc } from "../processes/processes.ts";
import type { Store } from "../store/store.ts";
import type { AgentKind } from "./agent-kind.ts";
import type { AgentFolders } from "./folders.ts";

export interface RecoveryOptions {
  store: Store;
  folders: AgentFolders;
  kind: AgentKind;
  queue: KeyedQueue;
  log: Log;
}

/** Ends engines that no open thread has, and begins to close the threads whose kill was cut off. */
export async function recoverAgents({ store, folders, kind, queue, log }: RecoveryOptions): Promise<void> {
  const open = new Set(store.threads.list("open").map(({ threadId }) => folders.of(threadId)));
  for (const folder of foldersOfEngines(folders.root)) {
    if (open.has(folder)) continue;
    log.warn({ folder }, "ending an engine that no thread has");
    await killMarked(`${ENGINE_FOLDER_MARKER}=${folder}`);
  }
  for (const { threadId, status } of store.agents.list()) {
    const thread = store.threads.find(threadId);
    if (thread?.status !== "killed" || status === "killed") continue;
    log.warn({ threadId }, "finishing a kill that was cut off");
    void queue.run(threadId, () => kind.takeKill(thread));
  }
}

/** The threads' folders that living engines, and what they started, name in their environment. */
function foldersOfEngines(root: string): Set<string> {
  const marker = `${ENGINE_FOLDER_MARKER}=${root}/`;
  const found = listProcesses().flatMap(({ pid }) => {
    const entry = (readProc(pid, "environ") ?? "").split("\0").find((one) => one.startsWith(marker));
    return entry === undefined ? [] : [entry.slice(ENGINE_FOLDER_MARKER.length + 1)];
  });
  return new Set(found);
}
