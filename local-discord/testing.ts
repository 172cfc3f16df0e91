/** For tests against local Discord: a clock to turn, and plain requests as the bot. */
import { afterEach, beforeEach } from "vitest";
import { WIDE_LIMITS } from "./rate-limits.ts";
import { type LocalDiscord, runLocalDiscord } from "./run.ts";

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

/**
 * A local Discord for each test, with room for three threads, and requests as the bot. Call it once, where a test file
 * calls `beforeEach`.
 */
export function restTest() {
  let discord: LocalDiscord;
  let api: Api;
  let clock: TestClock;
  beforeEach(async () => {
    clock = testClock();
    discord = await runLocalDiscord({
      now: clock.now,
      limits: { ...WIDE_LIMITS, activeThreads: 3 },
      users: [{ name: "Robin" }],
    });
    api = botApi(discord);
  });
  afterEach(() => discord.close());
  const request: Api = (...sent) => api(...sent);
  return {
    get discord() {
      return discord;
    },
    get clock() {
      return clock;
    },
    api: request,
    send: (body: object, channel = discord.channelId) => api("POST", `/channels/${channel}/messages`, body),
    makeThread: async (body: object = { name: "t", type: 11 }) => {
      const made = await api("POST", `/channels/${discord.channelId}/threads`, body);
      if (made.status !== 201) throw new Error(`no thread: ${JSON.stringify(made)}`);
      return String(made.body["id"]);
    },
  };
}
