import type { ConsoleKind } from "./kind.ts";

export const terminal: ConsoleKind = {
  hasConversation: false,
  openPanel: undefined,
  hasPane: true,
  making: {
    choice: "A command in a terminal",
    commandLabel: "Command",
    isAddress: false,
    hasDirectory: true,
    hasWorktree: false,
    hasEngine: false,
  },
  ends: "All that runs in it ends.",
};
