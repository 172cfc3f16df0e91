import type { ConsoleKind } from "./kind.ts";

export const browser: ConsoleKind = {
  hasConversation: false,
  hasPicture: true,
  commandLabel: "Address",
  hasWorktree: false,
  hasEngine: false,
  ends: "The browser ends, with all of its pages.",
};
