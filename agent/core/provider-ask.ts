/** The question of a thread whose provider takes no more calls for now: when is it to go on? Pure. */
import type { EventBody } from "../../shared/agent/events.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { AT_OPTION, MORE_OPTION, STOP_OPTION } from "../../shared/agent/limits.ts";
import { clockText } from "../../shared/clock-text.ts";

export function providerAsk(
  fold: ThreadFold,
  { message, resetsAt }: NonNullable<ThreadFold["usageLimit"]>,
  nowMs: number,
): EventBody<"permission_request"> {
  const once = "allow_once" as const;
  const options =
    resetsAt === undefined
      ? [{ optionId: MORE_OPTION, name: "Go on", kind: once }]
      : [
          { optionId: AT_OPTION, name: `Go on at ${clockText(resetsAt, nowMs)}`, kind: once },
          { optionId: MORE_OPTION, name: "Go on now", kind: once },
        ];
  return {
    type: "permission_request",
    // The transcript's line that it follows: a runner that was killed before it wrote it asks the same.
    requestId: `limit-provider-${fold.seq}`,
    toolCallId: "",
    toolName: "Limit",
    callKey: `limit provider ${resetsAt ?? fold.seq}`,
    input: "{}",
    options: [...options, { optionId: STOP_OPTION, name: "Stop here", kind: "reject_always" }],
    title: message === "" ? "The provider takes no more calls for now" : message,
    ...(resetsAt !== undefined && { description: `It resets at ${clockText(resetsAt, nowMs)}.` }),
    limit: { name: "provider", allowed: 0, used: 0, ...(resetsAt !== undefined && { resetsAt }) },
  };
}
