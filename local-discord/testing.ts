/** For tests against local Discord: a clock to turn, and plain requests as the bot. */
import type { LocalDiscord } from "./run.ts";

export type TestClock = { now: () => number; advance: (ms: number) => void };

/** Stands still until it is advanced. */
export function testClock(start = Date.now()): TestClock {
  let now = start;
  return {
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
  };
}

export type ApiAnswer = {
  status: number;
  headers: Headers;
  /** Parsed JSON; undefined where there is no body. */
  body: Record<string, unknown> & unknown[];
};

export type Api = (
  method: string,
  path: string,
  body?: unknown,
  options?: { token?: string | null; headers?: Record<string, string> },
) => Promise<ApiAnswer>;

/** Requests below `/api/v10`. A string or FormData goes out as it is, anything else as JSON. */
export function botApi(discord: LocalDiscord): Api {
  return async (method, path, body, options = {}) => {
    const isRaw = typeof body === "string" || body instanceof FormData;
    const token = options.token === undefined ? `Bot ${discord.botToken}` : options.token;
    const response = await fetch(`${discord.apiUrl}/v10${path}`, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: token }),
        ...(body === undefined || isRaw ? {} : { "content-type": "application/json" }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === "" ? undefined : JSON.parse(text),
    };
  };
}
