/** Reading lines of a transcript that somebody else may have written too. Pure. */
import { parseEvent, type ThreadEvent } from "./events.ts";

/** The event of a line; undefined if it is a torn or foreign line, or of a later version. */
export function findEvent(line: string): ThreadEvent | undefined {
  if (line === "") return undefined;
  try {
    return parseEvent(line);
  } catch {
    return undefined; // the thread itself says that the line is there
  }
}
