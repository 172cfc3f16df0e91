/** What needs people, over all agents. Pure. */

import type { AskReply, InboxItem } from "../../shared/agent/api.ts";
import { isAtRest } from "../../shared/agent/files.ts";
import type { DiscordId } from "../../shared/ids.ts";
import { printPrincipal } from "../../shared/principal.ts";
import { titleOf } from "../../shared/title.ts";
import type { AgentRow } from "../store/agents.ts";
import type { StepRow } from "../store/steps.ts";
import type { StoredThread } from "../store/threads.ts";

/** An ask may be of any length; who wants all of it looks into the thread. */
const MAX_TEXT = 500;

export interface OpenAgent {
  thread: StoredThread;
  agent: AgentRow;
  /** Its Discord thread. */
  home?: DiscordId | null | undefined;
  /** The channel that this is in. */
  channelId?: DiscordId | null | undefined;
  now: Pick<AgentRow, "status" | "problem">;
  lastTurn: StepRow | undefined;
  /** Its words are private: it speaks with a tool. */
  voice?: "message";
}

/**
 * Asks first, the oldest of them first; then failures and ends, the newest first.
 * @param sinceMs a turn that ended before is no news.
 */
export function listInbox(
  agents: readonly OpenAgent[],
  asks: readonly AskReply[],
  sinceMs: number,
): InboxItem[] {
  const byId = new Map(agents.map((open) => [open.thread.threadId, open]));
  const asked = asks.flatMap(({ threadId, kind, askedAt, title }) => {
    const open = byId.get(threadId);
    return open ? [itemOf(open, { kind, at: askedAt, text: title })] : [];
  });
  const others = agents.flatMap((open) => findFailure(open) ?? findEnd(open, sinceMs) ?? []);
  const newestFirst = (kind: InboxItem["kind"]) =>
    others.filter((item) => item.kind === kind).sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  return [...asked, ...newestFirst("failure"), ...newestFirst("end")];
}

function findFailure(open: OpenAgent): InboxItem | undefined {
  const { agent, now, thread } = open;
  if (now.status !== "failed") return undefined;
  const at = agent.fold.ts ?? new Date(thread.createdAt).toISOString();
  return itemOf(open, { kind: "failure", at, text: now.problem ?? agent.fold.failure?.message ?? "" });
}

/** A turn that a person stopped is no news to them; one that was cut off goes on or fails. */
function findEnd(open: OpenAgent, sinceMs: number): InboxItem | undefined {
  const { now, lastTurn } = open;
  if (open.voice) return undefined; // it says itself what people should know
  if (!isAtRest(now.status) || lastTurn?.status !== "completed" || lastTurn.endedAt === null)
    return undefined;
  const { endedAt: at, reason } = lastTurn;
  if (Date.parse(at) < sinceMs) return undefined;
  return itemOf(open, { kind: "end", at, text: reason === "end_turn" ? "" : (reason ?? "") });
}

function itemOf(
  { thread, agent, home, channelId }: OpenAgent,
  { kind, at, text }: Pick<InboxItem, "kind" | "at" | "text">,
): InboxItem {
  const { threadId, title, dir, command, createdBy } = thread;
  return {
    kind,
    threadId,
    ...(home && { home }),
    ...(channelId && { channelId }),
    number: agent.number,
    title: title === "" ? titleOf(dir, command) : title,
    createdBy: printPrincipal(createdBy),
    at,
    text: text.slice(0, MAX_TEXT),
  };
}
