import type { ConsoleKind } from "./kind.ts";

export const room: ConsoleKind = {
  hasConversation: false,
  hasPicture: false,
  making: undefined,
  ends: "The room ends; its members go on as threads of their own.",
};
