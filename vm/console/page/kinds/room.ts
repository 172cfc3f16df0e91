import { RoomPane } from "../room-pane.ts";
import type { ConsoleKind } from "./kind.ts";

export const room: ConsoleKind = {
  hasConversation: false,
  openPanel: (options) => new RoomPane(options),
  hasPane: false,
  making: undefined,
  ends: "The room ends; its members go on as threads of their own.",
};
