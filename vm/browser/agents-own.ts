/** Browsers that agents open for themselves: their ids, and whose they are. */
import { createHash } from "node:crypto";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import type { StoredThread } from "../store/threads.ts";

/** The agent that opened a browser; undefined if a person did. */
export function findOpener({ createdBy }: Pick<StoredThread, "createdBy">): ThreadId | undefined {
  return createdBy.kind === "thread" ? knownThreadId.parse(createdBy.threadId) : undefined;
}

/** The id of a browser that a call of an agent opens. @param call what the agent's calls are told apart by */
export function browserIdOf(agentId: ThreadId, call: string): ThreadId {
  const hash = createHash("sha256").update(`${agentId} ${call}`).digest("hex");
  return knownThreadId.parse(`browser-${hash.slice(0, 24)}`);
}
