/** Makes a channel's agents from its settings and from a message there. Pure. */
import { ENGINE_NAMES } from "../../shared/agent/engines/engines.ts";
import type { CreateRequest } from "../../shared/api.ts";
import type { ChannelRow } from "../../shared/channel-api.ts";
import { AppError } from "../../shared/errors.ts";
import { type ChannelRules, wordsFor } from "../discord/channel-message.ts";
import { filesOf, forwardedTexts } from "../discord/message-parts.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import { agent as agentKind, asForwarded } from "../kinds/agent.ts";
import { leftOut } from "./person-files.ts";

type AgentRequest = NonNullable<CreateRequest["agent"]>;

/** What a person says of one agent; it goes before the channel's settings. */
export interface AskedAgent {
  /** The engine or the directive: then the channel's own engine, model and permission mode are left out. */
  engine?: AgentRequest;
  model?: string;
  limits?: AgentRequest["limits"];
  /** In a git worktree of its own; null: as the channel has it. */
  worktree?: boolean | null;
}

/** @returns empty if nobody has chosen anything */
export function agentOf(row: ChannelRow | undefined, asked: AskedAgent = {}): { agent?: AgentRequest } {
  const limits = { ...row?.limits, ...asked.limits };
  const agent: AgentRequest = {
    ...(asked.engine ?? ofEngine(row)),
    ...(asked.model !== undefined && { model: asked.model }),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...((asked.worktree ?? row?.worktree) === true && { workspace: "worktree" as const }),
  };
  return Object.keys(agent).length === 0 ? {} : { agent };
}

/**
 * Makes an agent's first words, and its files, from a message of a channel.
 * @throws AppError `invalid_request` if it says nothing
 */
export function firstWordsOf(message: DiscordMessage, rules: ChannelRules) {
  const forwarded = forwardedTexts(message).map(asForwarded);
  const words = [wordsFor(message, rules), ...forwarded].filter((text) => text !== "").join("\n\n");
  const attachments = filesOf(message);
  if (words === "" && attachments.length === 0) {
    const missing = leftOut(message, [], agentKind.reading);
    throw new AppError("invalid_request", missing ?? "Say what the agent is to do.");
  }
  const command = words === "" ? "Look at the attached files." : words;
  return { command, isPlain: forwarded.length > 0, attachments };
}

function ofEngine(row: ChannelRow | undefined): AgentRequest {
  if (row?.directive != null) return { directive: row.directive };
  const engine = ENGINE_NAMES.find((name) => name === row?.engine);
  return {
    ...(engine !== undefined && { engine }),
    ...(row?.model != null && { model: row.model }),
    ...(row?.permissionMode != null && { permissionMode: row.permissionMode }),
  };
}
