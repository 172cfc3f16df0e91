/** Which controls an engine knows, and the values that they take. */
import type { EngineName } from "./config.ts";

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
};

/** A program that answers a message and ends has no mode, no model and no context to speak of. */
export const ENGINE_CONTROLS: Record<EngineName, readonly Control[]> = {
  claude: CONTROLS,
  demo: CONTROLS,
  command: ["interrupt", "pause", "resume", "limit", "undo"],
};

/** The mode that asks for nothing. */
export const BYPASS_MODE = "bypassPermissions";

/** What an agent may do without asking, as the engine names it. */
export const PERMISSION_MODES = ["default", "acceptEdits", "plan", "auto", "dontAsk", BYPASS_MODE] as const;
