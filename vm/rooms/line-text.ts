/** A room's line as its log has it. Pure. */
import { replaceHarmful } from "../../shared/clean-text.ts";
import type { NewRoomLine } from "../store/rooms.ts";

type Shown = Pick<NewRoomLine, "kind" | "name" | "number" | "text">;

/** Ends as lines of a terminal do. What its writer sent to move a cursor is left out. */
export function lineText({ kind, name, number, text }: Shown): string {
  const who = name === null ? "" : `${name}${number === null ? "" : ` #${number}`}`;
  const words = text
    .split(/\r\n|[\r\n]/)
    .map((line) => replaceHarmful(line.replaceAll("\t", "  "), ""))
    .join("\r\n  ");
  switch (kind) {
    case "text":
    case "person":
      return `${who}: ${words}\r\n`;
    case "note":
      return `-- ${words}\r\n`;
    case "pass":
    case "call":
      return `-- ${who} ${words}\r\n`;
  }
}
