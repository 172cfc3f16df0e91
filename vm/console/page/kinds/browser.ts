import { PicturePane } from "../picture-pane.ts";
import type { ConsoleKind } from "./kind.ts";

export const browser: ConsoleKind = {
  hasConversation: false,
  openPanel: ({ threadId, status, canAct, onSignedOut }) =>
    new PicturePane({ threadId, canAct: canAct && status === "running", onSignedOut }),
  hasPane: true,
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
