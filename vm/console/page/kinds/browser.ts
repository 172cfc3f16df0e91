import type { ConsoleKind } from "./kind.ts";

export const browser: ConsoleKind = {
  hasConversation: false,
  commandLabel: "Address",
  hasWorktree: false,
  hasEngine: false,
  ends: "The browser ends, with all of its pages.",
};
