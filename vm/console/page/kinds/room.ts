import type { ConsoleKind } from "./kind.ts";

export const room: ConsoleKind = {
  hasConversation: false,
  hasPicture: false,
  commandLabel: "Members",
  hasWorktree: false,
  hasEngine: false,
  ends: "The room ends; its members go on as threads of their own.",
};
