/** The question of a thread that has reached a limit: may it go on with as much again? Pure. */
import type { ThreadConfig } from "../../shared/agent/config.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import type { OpenAsk, ThreadFold } from "../../shared/agent/fold-types.ts";
import { describeLimit, MORE_OPTION, type ReachedLimit, STOP_OPTION } from "../../shared/agent/limits.ts";
import { cancelAsk } from "./closing.ts";

/** @param reached by this thread now; it has no open ask of a limit. */
export function limitAsk(fold: ThreadFold, reached: ReachedLimit): EventBody<"permission_request"> {
  const { name, allowed, used, step, day } = reached;
  const title =
    name === "dayUsd"
      ? `All agents together have reached today's limit of ${describeLimit(name, allowed)}. Continue with as much again, for all?`
      : `The thread has reached its limit of ${describeLimit(name, allowed)}. Continue with as much again?`;
  return {
    type: "permission_request",
    // The transcript's line that it follows: a runner that was killed before it wrote it asks the same.
    requestId: `limit-${name}-${fold.seq}`,
    toolCallId: "",
    toolName: "Limit",
    callKey: `limit ${name} ${day ?? ""} ${allowed}`,
    input: "{}",
    options: [
      { optionId: MORE_OPTION, name: `Continue with ${describeLimit(name, step)} more`, kind: "allow_once" },
      { optionId: STOP_OPTION, name: "Stop here", kind: "reject_always" },
    ],
    title,
    description: `Used so far: ${describeLimit(name, used)}.`,
    limit: { name, allowed, used, ...(day !== undefined && { day }) },
  };
}

/** Closes the questions about a limit that a person has changed or taken away since: what holds now is looked at anew. */
export function closeOutdated({ asks, limits }: ThreadFold): EventBody[] {
  const isOutdated = ({ limit }: OpenAsk) => {
    if (!limit || limit.name === "provider" || limit.name === "dayUsd") return false;
    return limits[limit.name]?.allowed !== limit.allowed;
  };
  return asks.filter(isOutdated).map((ask) => cancelAsk(ask, "replaced"));
}

/** Closes the question about what a directory brings, if the thread was handed over to another one since. */
export function closeLeft(
  { asks }: ThreadFold,
  { handedOver }: Pick<ThreadConfig, "handedOver">,
): EventBody[] {
  if (!handedOver) return [];
  const isLeft = ({ trust, askedAt }: OpenAsk) => trust === true && askedAt < handedOver.at;
  return asks.filter(isLeft).map((ask) => cancelAsk(ask, "withdrawn"));
}
