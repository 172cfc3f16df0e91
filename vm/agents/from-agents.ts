/** The inbox lines of what other agents write to one. */
import type { InboxLine } from "../../shared/agent/inbox.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { threadPrincipal } from "../../shared/principal.ts";
import type { Store } from "../store/store.ts";
import { type AgentMessage, agentMessageLine, refuseMessage } from "./agent-message.ts";
import { type MarksOptions, markLines } from "./marks.ts";

type Options = Pick<MarksOptions, "folders" | "agents" | "now"> & { store: Pick<Store, "agents"> };

/**
 * Gives the lines of those messages that the inbox does not have, in their order, after the mark that they bring.
 * @throws AppError `thread_paused`, `thread_single`, `thread_locked`, `unsupported`
 */
export function linesFromAgents(
  options: Options,
  threadId: ThreadId,
  messages: readonly AgentMessage[],
): InboxLine[] {
  const { agents, folders, store, now } = options;
  const agent = agents.get(threadId);
  const known = agent.messageIds;
  const left = messages.filter(({ messageId }) => !known.has(messageId));
  if (left.length === 0) return [];
  const { mode, voice } = folders.findConfig(threadId)?.agent ?? {};
  refuseMessage(agent, { mode, isLocked: store.agents.find(threadId)?.isLocked });
  const marked = left.find(({ marks }) => marks !== undefined);
  const before = marked ? markLines(options, threadId, marked.marks, threadPrincipal(marked.from)) : [];
  return [...before, ...left.map((message) => agentMessageLine({ ...message, voice }, now()))];
}
