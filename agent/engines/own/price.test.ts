import { expect, test } from "vitest";
import { priceOf } from "./price.ts";
import { Providers } from "./provider.ts";

const MILLION = 1_000_000;
const providers = new Providers();
const price = (provider: string, model: string, usage: Partial<Parameters<typeof priceOf>[1]>) =>
  priceOf(
    { provider: providers.get(provider), model, by: `${provider}/${model}` },
    { inputTokens: 0, outputTokens: 0, ...usage },
  );

test("what is read, written, read from the provider's cache and kept there has its own price", async () => {
  const usd = async (usage: Parameters<typeof price>[2]) =>
    (await price("anthropic", "claude-opus-5-5", usage)).usd ?? Number.NaN;
  const [read, written, fromCache, toCache] = [
    await usd({ inputTokens: MILLION }),
    await usd({ outputTokens: MILLION }),
    await usd({ cachedReadTokens: MILLION }),
    await usd({ cachedWriteTokens: MILLION }),
  ];
  expect([read, written, fromCache, toCache]).toEqual([4, 20, 0.2, 5]);
  const all = await usd({ inputTokens: MILLION, outputTokens: MILLION, cachedReadTokens: MILLION });
  expect(all).toBeCloseTo(read + written + fromCache, 9);
});

test("each provider's usual model has a price and a context; an unknown one, and one of a person's own, have none", async () => {
  for (const [provider, model] of [
    ["openai", "gpt-6-sol"],
    ["google", "gemini-3.8-flash"],
  ] as const) {
    const { usd = 0, contextTokens } = await price(provider, model, { inputTokens: 1_000 });
    expect(usd, model).toBeGreaterThan(0);
    expect(contextTokens, model).toBeGreaterThan(500_000);
  }
  expect(await price("openai", "no-such-model", { inputTokens: 1_000 })).toEqual({ contextTokens: 128_000 });
  const own = await price("openai-compatible", "gpt-6-sol", { inputTokens: 1_000 });
  expect(own).toEqual({ contextTokens: 128_000 });
});
