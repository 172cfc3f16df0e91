/** The cost of a call of the model, and the size of its context, by a table that comes with threadmux. */
import type { Usage } from "../../../shared/agent/values.ts";
import type { Chosen } from "./providers.ts";

/** The context of a model that the table does not know. */
const USUAL_CONTEXT = 128_000;

export interface Price {
  /** Undefined if nobody knows. */
  usd?: number;
  contextTokens: number;
}

export async function priceOf({ provider, model }: Chosen, usage: Usage): Promise<Price> {
  const { calcPrice } = await import("@pydantic/genai-prices");
  const { inputTokens, outputTokens, cachedReadTokens = 0, cachedWriteTokens = 0 } = usage;
  const counts = {
    input_tokens: inputTokens + cachedReadTokens + cachedWriteTokens,
    cache_read_tokens: cachedReadTokens,
    cache_write_tokens: cachedWriteTokens,
    output_tokens: outputTokens,
  };
  // A server of a person's own has models of any name: their prices are nobody's list's.
  if (provider.isLocal) return { contextTokens: USUAL_CONTEXT };
  const found = calcPrice(counts, model, { providerId: provider.name });
  const contextTokens = found?.model.context_window ?? USUAL_CONTEXT;
  return { contextTokens, ...(found && { usd: found.total_price }) };
}
