import type { ConsoleKind } from "./kind.ts";

export const terminal: ConsoleKind = {
  hasConversation: false,
  hasPicture: false,
  commandLabel: "Command",
  hasWorktree: false,
  hasEngine: false,
  ends: "All that runs in it ends.",
};
