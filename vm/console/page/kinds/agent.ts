import type { ConsoleKind } from "./kind.ts";

export const agent: ConsoleKind = {
  hasConversation: true,
  openPanel: undefined,
  hasPane: true,
  making: {
    choice: "A coding agent",
    commandLabel: "What it is to do",
    isAddress: false,
    hasDirectory: true,
    hasWorktree: true,
    hasEngine: true,
  },
  ends: "The agent, and all that it started, ends.",
};
