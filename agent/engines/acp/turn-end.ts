/** How a turn ended, by the answer to its last prompt. Pure. */
import type { Prompted } from "./messages.ts";
import type { Said } from "./protocol.ts";

export function endLine(
  { ids, durationMs, isCancelled }: { ids: string[]; durationMs: number; isCancelled: boolean },
  { result, error }: { result?: Prompted; error?: string },
): Said<"end"> {
  const { usage } = result ?? {};
  const stopReason = isCancelled ? "cancelled" : stopReasonOf(result?.stopReason);
  return {
    type: "end",
    ids,
    stopReason,
    ...(stopReason === "error" && { error: error ?? `It ended the turn: ${result?.stopReason}` }),
    durationMs,
    ...(usage && { usage: usageOf(usage) }),
  };
}

function stopReasonOf(told: string | undefined): Said<"end">["stopReason"] {
  switch (told) {
    case "end_turn":
    case "max_tokens":
    case "max_turn_requests":
    case "refusal":
    case "cancelled":
      return told;
    default:
      return "error";
  }
}

/** As ACP counts: what came from the cache stands beside the rest. */
function usageOf(usage: NonNullable<Prompted["usage"]>): Said<"end">["usage"] {
  const { inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens, thoughtTokens } = usage;
  return {
    inputTokens,
    outputTokens,
    ...(cachedReadTokens !== undefined && { cachedReadTokens }),
    ...(cachedWriteTokens !== undefined && { cachedWriteTokens }),
    ...(thoughtTokens !== undefined && { thoughtTokens }),
  };
}
