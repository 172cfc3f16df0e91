/** Makes the part of a parent's configuration that every child has. Pure. */
import type { AgentConfig } from "../../shared/agent/config.ts";
import type { ThreadId } from "../../shared/ids.ts";

export function inheritedFrom(parentId: ThreadId, own: AgentConfig): AgentConfig {
  const { originThreadId: _, outputSchema: __, voice: ___, mainAgent: ____, gates = [], ...inherited } = own;
  const guards = gates.filter(({ at }) => at === "before_step" || at === "on_limit");
  return {
    ...inherited,
    mode: "conversation",
    workspace: "shared",
    tags: [],
    parentThreadId: parentId,
    // A gate that holds its parent holds the child too.
    ...(guards.length > 0 && { gates: guards }),
  };
}
