/** At the sidecar's start: what an earlier one was killed in the middle of. */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { findEngine } from "../../shared/agent/engines/engines.ts";
import { ENGINE_FOLDER_MARKER, GATE_MARKER } from "../../shared/agent/markers.ts";
import { placeId, SLEEP_CLAIM } from "../../shared/agent/place-order.ts";
import { isOpen } from "../../shared/api.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { job, printPrincipal } from "../../shared/principal.ts";
import { killMarked } from "../processes/kill-marked.ts";
import { listProcesses, readProc } from "../processes/processes.ts";
import type { Store } from "../store/store.ts";
import type { AgentKind } from "./agent-kind.ts";
import type { AgentFolders } from "./folders.ts";

const MARKERS = [ENGINE_FOLDER_MARKER, GATE_MARKER];

export interface RecoveryOptions {
  store: Store;
  folders: AgentFolders;
  kind: AgentKind;
  queue: KeyedQueue;
  allowBypass: boolean;
  log: Log;
  now: () => number;
}

/**
 * Ends engines that no open thread has, begins to close the threads whose kill was cut off, and lets no agent go on
 * in a mode that is not allowed any more.
 */
export async function recoverAgents(options: RecoveryOptions): Promise<void> {
  const { store, folders, kind, queue, log } = options;
  const open = new Set(store.threads.list("open").map(({ threadId }) => folders.of(threadId)));
  for (const folder of foldersOfEngines(folders.root)) {
    if (open.has(folder)) continue;
    log.warn({ folder }, "ending an engine that no thread has");
    for (const name of MARKERS) await killMarked(`${name}=${folder}`);
  }
  for (const { threadId, status } of store.agents.list()) {
    const thread = store.threads.find(threadId);
    if (thread?.status !== "killed" || status === "killed") continue;
    log.warn({ threadId }, "finishing a kill that was cut off");
    queue
      .run(threadId, () => kind.takeKill(thread))
      .catch((error: unknown) => log.error({ threadId, err: error }, "could not finish a kill"));
  }
  endBypass(options);
  removeSleepers(options);
}

/** Threads that are over wait for no place any more; whoever waits is told how many come before. */
function removeSleepers({ store, folders }: RecoveryOptions): void {
  const open = new Set(store.threads.list("open").map(({ threadId }) => placeId(threadId)));
  const names = existsSync(folders.places) ? readdirSync(folders.places) : [];
  for (const name of names) {
    const isOpenThreads = name.split(".").some((part) => open.has(part));
    if (name.startsWith(SLEEP_CLAIM) && !isOpenThreads) rmSync(join(folders.places, name), { force: true });
  }
}

/** An engine that starts is looked at by its runner; one that has gone on since an earlier sidecar is told. */
function endBypass({ store, kind, queue, allowBypass, log, now }: RecoveryOptions): void {
  if (allowBypass) return;
  for (const { threadId, fold } of store.agents.list()) {
    const thread = store.threads.find(threadId);
    const modes = findEngine(fold.engine?.engine)?.capabilities.modes;
    const isOn = fold.engine?.isUp && modes && fold.engine.modeId === modes.bypass;
    if (!isOn || !thread || !isOpen(thread.status)) continue;
    log.warn({ threadId }, "ALLOW_BYPASS is not set: an agent that asked for nothing asks again");
    const ts = new Date(now()).toISOString();
    const line = { ts, op: "mode", modeId: modes.asking, by: printPrincipal(job("recovery")) } as const;
    queue
      .run(threadId, () => kind.append(thread, [line]))
      .catch((error: unknown) => log.error({ threadId, err: error }, "could not change an agent's mode"));
  }
}

/** The threads' folders that living engines, gates' commands and what they started name in their environment. */
function foldersOfEngines(root: string): Set<string> {
  const found = listProcesses().flatMap(({ pid }) => {
    const entries = (readProc(pid, "environ") ?? "").split("\0");
    return MARKERS.flatMap((name) => {
      const entry = entries.find((one) => one.startsWith(`${name}=${root}/`));
      return entry === undefined ? [] : [entry.slice(name.length + 1)];
    });
  });
  return new Set(found);
}
