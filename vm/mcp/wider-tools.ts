/** Whether one agent may use tools that another one may not. */
import { isDeepStrictEqual } from "node:util";
import type { AgentConfig } from "../../shared/agent/config.ts";

type ToolRights = Pick<AgentConfig, "tools" | "disallowedTools" | "gates">;

/**
 * Rules are compared as they are written: `Bash(git *)` is part of `Bash`, and two rules of one tool count as two tools.
 */
export function hasWiderTools(one: ToolRights, other: ToolRights): boolean {
  const { tools, disallowedTools = [], gates } = one;
  const isDenied = (rule: string) => disallowedTools.some((denied) => covers(denied, rule));
  if (other.tools !== undefined) {
    const isTheirs = (rule: string) => other.tools?.some((allowed) => covers(allowed, rule));
    if (!tools || tools.some((rule) => !isDenied(rule) && !isTheirs(rule))) return true;
  }
  const mayUse = (rule: string) =>
    !isDenied(rule) && (tools?.some((allowed) => covers(allowed, rule) || covers(rule, allowed)) ?? true);
  if (other.disallowedTools?.some(mayUse)) return true;
  // A gate before calls holds what it is about, so who has fewer of them may do more.
  const holding = (of: ToolRights["gates"] = []) => of.filter(({ at }) => at === "before_step");
  return holding(other.gates).some((gate) => !holding(gates).some((own) => isDeepStrictEqual(own, gate)));
}

/** Whether all that the second rule names is named by the first. */
function covers(rule: string, other: string): boolean {
  return rule === other || other.startsWith(`${rule}(`);
}
