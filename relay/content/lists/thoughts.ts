/** Makes a file of the texts that an agent with a voice wrote for itself. Pure. */
import type { ThreadEvent } from "../../../shared/agent/events.ts";
import { cleanLines } from "../../../shared/clean-text.ts";

/** Its own texts and thoughts with their times, the oldest first; empty if there are none. */
export function thoughtsFile(events: readonly ThreadEvent[]): string {
  return events
    .flatMap((event) =>
      (event.type === "agent_message" || event.type === "agent_thought") && event.text.trim() !== ""
        ? `${event.ts}\n${cleanLines(event.text)}\n`
        : [],
    )
    .join("\n");
}
