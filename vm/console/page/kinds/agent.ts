import type { ConsoleKind } from "./kind.ts";

export const agent: ConsoleKind = {
  hasConversation: true,
  hasPicture: false,
  commandLabel: "What it is to do",
  hasWorktree: true,
  hasEngine: true,
  ends: "The agent, and all that it started, ends.",
};
