/** Where what an agent hears comes from, and where what it says goes to: so that a stream of many sources can be read by one. Pure. */
import type { ThreadEvent } from "../../../../shared/agent/events.ts";
import { parsePrincipal } from "../../../../shared/principal.ts";

export const SOURCE_KINDS = ["people", "jobs", "hooks", "threads"] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/**
 * Tells who an input is from, or whom a message of the agent is to; undefined for all that is its own work.
 * @param isHook whether a job begins with a request from outside
 */
export function sourceKindOf(event: ThreadEvent, isHook: (job: string) => boolean): SourceKind | undefined {
  if (event.type === "message_sent") return "threads";
  if (event.type === "voice_message" || event.type === "voice_unanswered") return "people";
  if (event.type !== "user_message" && event.type !== "message_edit" && event.type !== "message_withdraw")
    return undefined;
  const principal = parsePrincipal(event.type === "user_message" ? event.source : event.by);
  switch (principal.kind) {
    case "job":
      // What threadmux itself reminds it of is about people's messages.
      if (event.type === "user_message" && event.handle === "threadmux") return "people";
      return isHook(principal.name) ? "hooks" : "jobs";
    case "thread":
      return "threads";
    default:
      return "people";
  }
}
