/** Which controls an engine knows, and the values that they take. */
import type { EngineName } from "./config.ts";

export const CONTROLS = ["interrupt", "pause", "resume", "compact", "mode", "model", "limit", "undo"] as const;
export type Control = (typeof CONTROLS)[number];

/** A program that answers a message and ends has no mode, no model and no context to speak of. */
export const ENGINE_CONTROLS: Record<EngineName, readonly Control[]> = {
  claude: CONTROLS,
  demo: CONTROLS,
  command: ["interrupt", "pause", "resume", "limit", "undo"],
};

/** What an agent may do without asking, as the engine names it. */
export const PERMISSION_MODES = [
  "default",
  "acceptEdits",
  "plan",
  "auto",
  "dontAsk",
  "bypassPermissions",
] as const;
