/** How the agents of a channel work, as its settings have it. Pure. */
import { ENGINE_NAMES } from "../../shared/agent/engines/engines.ts";
import type { CreateRequest } from "../../shared/api.ts";
import type { ChannelRow } from "../../shared/channel-api.ts";

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

function ofEngine(row: ChannelRow | undefined): AgentRequest {
  if (row?.directive != null) return { directive: row.directive };
  const engine = ENGINE_NAMES.find((name) => name === row?.engine);
  return {
    ...(engine !== undefined && { engine }),
    ...(row?.model != null && { model: row.model }),
    ...(row?.permissionMode != null && { permissionMode: row.permissionMode }),
  };
}
