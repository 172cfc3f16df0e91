import type { ConsoleKind } from "./kind.ts";

export const browser: ConsoleKind = {
  hasConversation: false,
  hasPicture: true,
  making: {
    choice: "A web page in a browser",
    commandLabel: "Address",
    isAddress: true,
    hasDirectory: false,
    hasWorktree: false,
    hasEngine: false,
  },
  ends: "The browser ends, with all of its pages.",
};
