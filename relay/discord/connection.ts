/** The connection to Discord: logging in, and how it ends for good. */
import { type Client, Events } from "discord.js";
import { errorText } from "../../shared/errors.ts";
import { pause, withDeadline } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { createClient } from "./bot.ts";
import { NO_MESSAGE_CONTENT, REFUSED_TOKEN } from "./refusals.ts";

const MAX_BACKOFF_MS = 30_000;
const READY_DEADLINE_MS = 60_000;

/** Close codes after which discord.js does not come back, and what to do about each. */
const FATAL_CLOSE_CODES: Record<number, string> = {
  4004: REFUSED_TOKEN,
  4010: "Discord refused the shard that this bot asked for.",
  4011: "This bot is in so many servers that Discord asks for sharding; threadmux serves one.",
  4012: "Discord no longer speaks this version of its gateway: update threadmux.",
  4013: "Discord refused the intents that this bot asked for.",
  4014: NO_MESSAGE_CONTENT,
};

/**
 * Logs in, as often as it takes. Each try has a client of its own: after a login that failed, discord.js' client
 * never becomes ready.
 * @throws Error in words for a person if trying again makes no sense.
 */
export async function logIn(
  { discordApiUrl, discordToken }: { discordApiUrl: string; discordToken: string },
  log: Log,
): Promise<Client<true>> {
  for (let waitMs = 500; ; waitMs = Math.min(waitMs * 2, MAX_BACKOFF_MS)) {
    const discord = createClient(discordApiUrl);
    discord.on(Events.Error, (error) => log.error({ err: error }, "discord.js reported an error"));
    discord.on(Events.ShardError, (error) => log.warn({ err: error }, "the gateway connection failed"));
    try {
      const ready = new Promise<Client<true>>((resolve) => discord.once(Events.ClientReady, resolve));
      ready.catch(() => undefined); // never rejects
      await discord.login(discordToken);
      return await withDeadline(ready, READY_DEADLINE_MS, "becoming ready at Discord");
    } catch (error) {
      await discord.destroy();
      const problem = findLoginProblem(errorText(error));
      if (problem !== undefined) throw new Error(problem, { cause: error });
      log.warn({ err: error, waitMs }, "could not log in to Discord; trying again");
      await pause(waitMs);
    }
  }
}

function findLoginProblem(text: string): string | undefined {
  if (/invalid token|TokenInvalid|Authentication failed/i.test(text)) return FATAL_CLOSE_CODES[4004];
  if (/disallowed intents/i.test(text)) return FATAL_CLOSE_CODES[4014];
  return /invalid intents/i.test(text) ? FATAL_CLOSE_CODES[4013] : undefined;
}

/** @returns a promise that rejects, in words for a person, when Discord has closed the connection for good. */
export function watchConnection(discord: Client, log: Log): Promise<never> {
  const failed = new Promise<never>((_resolve, reject) => {
    discord.on(Events.ShardDisconnect, ({ code }) => {
      const reason = FATAL_CLOSE_CODES[code];
      if (reason !== undefined) reject(new Error(reason));
      else log.warn({ code }, "disconnected from Discord");
    });
  });
  failed.catch(() => undefined); // whoever runs the relay looks at it
  return failed;
}
