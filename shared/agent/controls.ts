/** Which controls an engine knows, and the values that they take. */
import type { EngineDeclaration } from "./engines/declaration.ts";

export const CONTROLS = [
  "interrupt",
  "pause",
  "resume",
  "compact",
  "mode",
  "model",
  "limit",
  "undo",
  "rules",
  "unmark",
] as const;
export type Control = (typeof CONTROLS)[number];

export const CONTROL_SUMMARIES: Record<Control, string> = {
  interrupt: "End an agent's turn",
  pause: "Hold an agent until it is resumed",
  resume: "Go on after a pause or a failure",
  compact: "Make an agent's context shorter",
  mode: "Change an agent's permission mode",
  model: "Change an agent's model",
  limit: "Change what an agent may use up",
  undo: "Put the files back that an agent's turn changed",
  rules: "Withdraw rules that people granted in an agent's thread",
  unmark: "Trust what an agent has read from outside",
};

/** The controls that an engine's capabilities leave. */
export function controlsOf({ capabilities }: EngineDeclaration): Control[] {
  const { compact, modes, models, rules } = capabilities;
  const can: Partial<Record<Control, boolean>> = {
    compact,
    mode: modes !== undefined,
    model: models,
    rules,
    unmark: rules,
  };
  return CONTROLS.filter((control) => can[control] ?? true);
}
