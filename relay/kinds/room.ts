/** A room's thread: what its members say is shown, and what people write is said to them. */
import { inputText, isTextFile } from "../discord/person-message.ts";
import type { RelayKind } from "./kind.ts";
import { terminal } from "./terminal.ts";

export const room: RelayKind = {
  ...terminal,
  type: "room",
  reading: {
    forwarded: inputText,
    isWords: isTextFile,
    takesFiles: false,
    leavesOut: () => true,
    leftOut: (hasOthers) => `Left out, a room takes ${hasOthers ? "text and " : ""}text files alone`,
    nothing: "Only text can be said in a room.",
  },
  inputsOf: async (_message, { texts }) => texts.map((text) => ({ text })),
};
