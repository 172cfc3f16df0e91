/** What was decided on an ask, by whom, in words. Pure. */
import type { EventOf } from "../../../../shared/agent/events.ts";
import { cleanLine } from "../../../../shared/clean-text.ts";
import { nameOf } from "../people.ts";

export type Request = EventOf<"permission_request" | "elicitation_request">;
export type Response = EventOf<"permission_response" | "elicitation_response">;

export function describeDecision(request: Request | undefined, response: Response): string {
  const by = response.by === undefined ? "" : ` by ${nameOf(response.by)}`;
  if (response.type === "elicitation_response") {
    if (response.action === "cancel") return describeEnd(response.reason);
    if (response.action === "decline") return `✗ Not answered${by}`;
    const answers = Object.values(response.content ?? {}).map(cleanLine);
    return `✓ Answered${by}: ${answers.join(" · ")}`;
  }
  if (response.outcome === "cancelled") return describeEnd(response.reason);
  const options = request?.type === "permission_request" ? request.options : [];
  const option = options.find(({ optionId }) => optionId === response.optionId);
  const isAllowed = option?.kind === "allow_once" || option?.kind === "allow_always";
  const because = response.message === undefined ? "" : `: ${cleanLine(response.message)}`;
  const name = option?.name ?? response.optionId ?? "decided";
  return `${isAllowed ? "✓" : option ? "✗" : "·"} ${cleanLine(name)}${by}${because}`;
}

function describeEnd(reason: string | undefined): string {
  const why: Record<string, string> = {
    withdrawn: "the agent does not ask any more",
    turn_ended: "the turn has ended",
    timeout: "nobody answered in time",
    killed: "the thread was ended",
    replaced: "it is asked again below",
  };
  return `⏹ Closed: ${why[reason ?? ""] ?? "it is not asked any more"}`;
}
