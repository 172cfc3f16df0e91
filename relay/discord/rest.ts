/** discord.js' REST clients, set up so that one limit of Discord's delays only what runs into it. */
import { REST, RESTEvents } from "discord.js";
import { keepWithinLimits } from "./limits.ts";

/**
 * A client of our own for everything but answers to commands. It makes each request once and never waits: discord.js
 * would try again at once and uncounted, and a request that waits there holds up its whole queue.
 * `requests.ts` does both.
 * @param like the client whose options it takes over.
 */
export function createRest(like: REST, token: string): { rest: REST; close: () => void } {
  const rest = new REST({ ...like.options, retries: 0, rejectOnRateLimit: () => true }).setToken(token);
  keepWithinLimits(rest);
  return {
    rest,
    close: () => {
      rest.clearHashSweeper();
      rest.clearHandlerSweeper();
    },
  };
}

/** Tells of answers that say that the whole bot is too fast, and for how long; limits of one route are not told. */
export function onGlobalLimit(rest: REST, tell: (retryAfterMs: number) => void): void {
  rest.on(RESTEvents.Response, (_request, { status, headers }) => {
    if (status !== 429) return;
    const isGlobal = headers.has("x-ratelimit-global") || headers.get("x-ratelimit-scope") === "global";
    if (isGlobal) tell(Number(headers.get("retry-after") ?? 1) * 1_000);
  });
}
