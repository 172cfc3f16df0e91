/** One thread with its configuration and its descent. */

import type { ThreadConfig } from "../../shared/agent/config.ts";
import { deciderOf, type KeptGate } from "../../shared/agent/gates.ts";
import { MASK, maskArgs } from "../../shared/agent/mask-args.ts";
import { isOpen } from "../../shared/api.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { ThreadDetail } from "../../shared/thread-detail.ts";
import type { Store } from "../store/store.ts";
import type { Threads } from "../threads/threads.ts";
import type { AgentFolders } from "./folders.ts";
import { channelsEverHeardBy } from "./heard-channels.ts";
import { splitArgs } from "./program.ts";

/** Configurations that are read for one thread. */
const MAX_ANCESTORS = 1_000;

export class ThreadDetails {
  readonly #store: Store;
  readonly #threads: Threads;
  readonly #folders: AgentFolders;

  constructor(store: Store, threads: Threads, folders: AgentFolders) {
    this.#store = store;
    this.#threads = threads;
    this.#folders = folders;
  }

  /** @throws AppError `not_found` */
  get(threadId: ThreadId): ThreadDetail {
    const thread = this.#threads.get(threadId);
    const config = this.#findConfig(threadId);
    const isLocked = this.#store.agents.find(threadId)?.isLocked ?? false;
    const { spawnedBy, branchedFrom } = this.#descentOf(threadId, config);
    return {
      ...thread,
      agent: config ? configurationOf(config) : null,
      tags: config?.agent.tags ?? [],
      lifecycle: !isOpen(thread.status) ? "dead" : isLocked ? "locked" : "active",
      root: this.#rootOf(threadId),
      ...{ branchedFrom: branchedFrom ?? null, spawnedBy: spawnedBy ?? null },
      ...(thread.voice && { heardIn: channelsEverHeardBy(this.#store, threadId) }),
    };
  }

  /** Finds the first thread of its family; the id of a removed thread is known all the same. */
  #rootOf(threadId: ThreadId): ThreadId {
    const seen = new Set([threadId]);
    for (let id = threadId; seen.size <= MAX_ANCESTORS; ) {
      const { spawnedBy, branchedFrom } = this.#descentOf(id, this.#findConfig(id));
      const from = spawnedBy ?? branchedFrom;
      // One that goes on in the place of the one that it knows has that one's id.
      if (from === undefined || seen.has(from)) return id;
      seen.add(from);
      id = from;
    }
    return threadId;
  }

  #descentOf(threadId: ThreadId, config: ThreadConfig | undefined) {
    const origin = config?.origin?.threadId ?? this.#store.agents.find(threadId)?.origin?.threadId;
    return { spawnedBy: config?.agent.parentThreadId, branchedFrom: origin };
  }

  #findConfig(threadId: ThreadId): ThreadConfig | undefined {
    return this.#folders.exists(threadId) ? this.#folders.findConfig(threadId) : undefined;
  }
}

function configurationOf({ agent, launch }: ThreadConfig): NonNullable<ThreadDetail["agent"]> {
  const { parentThreadId: _, originThreadId: __, tags: ___, ...rest } = agent;
  const gates = rest.gates?.map(withoutSecrets);
  return { ...rest, ...(gates && { gates }), program: launch.program, args: maskArgs(launch.args) };
}

/** A command that decides may carry a key in its words. */
function withoutSecrets(gate: KeptGate): KeptGate {
  const decider = deciderOf(gate);
  if (decider.is !== "command") return gate;
  const command = maskCommand(decider.command);
  return command === decider.command ? gate : { ...gate, by: { command } };
}

/** The command as it was written, unless something in it looks like a secret: then its words, without their quotes. */
function maskCommand(command: string): string {
  let words: string[];
  try {
    words = splitArgs(command);
  } catch {
    return MASK; // nobody can tell its words apart
  }
  const masked = maskArgs(words);
  return masked.every((word, at) => word === words[at]) ? command : masked.join(" ");
}
