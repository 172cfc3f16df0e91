/** claude's counts in our words. */
import type { Usage } from "../../../shared/agent/values.ts";
import type { ClaudeUsage } from "./lines.ts";

export function usageOf(usage: ClaudeUsage): Usage {
  const thoughtTokens = whole(usage.output_tokens_details?.thinking_tokens);
  return {
    inputTokens: whole(usage.input_tokens),
    outputTokens: whole(usage.output_tokens),
    cachedReadTokens: whole(usage.cache_read_input_tokens),
    cachedWriteTokens: whole(usage.cache_creation_input_tokens),
    ...(thoughtTokens > 0 && { thoughtTokens }),
  };
}

/** What the model was given and gave: the context's size after a call. */
export function contextTokens(usage: Usage): number {
  const { inputTokens, outputTokens, cachedReadTokens = 0, cachedWriteTokens = 0 } = usage;
  return inputTokens + outputTokens + cachedReadTokens + cachedWriteTokens;
}

function whole(count: number | null | undefined): number {
  return Math.max(0, Math.trunc(count ?? 0));
}
