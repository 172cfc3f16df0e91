/**
 * Events of which people read a line, with words below it, and nothing else: no buttons, no state. All faces (Discord,
 * the console, the command line) draw the remark, so an event that is to be seen like this needs a case here alone.
 */
import type { ThreadEvent } from "./events.ts";

/** The text as the event has it: a face cleans it, and cuts it to what it has room for. */
export interface PlainRemark {
  title: string;
  /** Empty if there is no more to say. */
  text: string;
  /** `info` stands among the agent's steps; the others stand out. */
  severity: "info" | "warning" | "error";
}

/** Undefined of events that people see in another way, or not at all. */
export function plainRemarkOf(event: ThreadEvent): PlainRemark | undefined {
  switch (event.type) {
    case "notice":
      return { title: event.title, text: event.description ?? "", severity: event.severity };
    default:
      return undefined;
  }
}
