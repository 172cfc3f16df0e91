/** Bounds what an engine asks people: an ask beyond the bounds is refused to the engine and shown to nobody. Pure. */
import type { EventBody } from "../../shared/agent/events.ts";
import { findAsk, whyNoAsk } from "../../shared/agent/fold-asks.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";

export interface Bounded {
  bodies: EventBody[];
  /** By the ids of refused requests: the sentence that the engine is told. */
  refused: Map<string, string>;
}

/** @param bodies the events of one line of the engine's output */
export function boundAsks(bodies: readonly EventBody[], fold: ThreadFold): Bounded {
  const refused = new Map<string, string>();
  const why = whyNoAsk(fold);
  if (why === undefined) return { bodies: [...bodies], refused };
  const answered = new Set(bodies.flatMap((body) => (isResponse(body) ? [body.requestId] : [])));
  const kept = bodies.filter((body) => {
    if (body.type !== "permission_request" && body.type !== "elicitation_request") return true;
    // An ask that takes the place of an old one makes none more; one that is open was let through before.
    const isOld = body.replaces !== undefined || findAsk(fold, body.requestId) !== undefined;
    if (isOld || answered.has(body.requestId)) return true;
    refused.set(body.requestId, why);
    return false;
  });
  return { bodies: kept, refused };
}

function isResponse(body: EventBody): body is EventBody<"permission_response" | "elicitation_response"> {
  return body.type === "permission_response" || body.type === "elicitation_response";
}

/** Tells people, once for an engine process, that they are not asked all that it asks. */
export function tooManyAsks(why: string): EventBody {
  const title = "The agent asks more than people can decide on: its next questions are refused";
  return { type: "notice", severity: "warning", title, description: why };
}
