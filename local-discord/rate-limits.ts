/** Discord's rate limits as a pure machine over an injected clock: buckets, hidden sub-limits, the global one. */
import { createHash } from "node:crypto";

/** `limit` requests in `perMs`, counted from the first request of a window. */
export type Window = { limit: number; perMs: number };

export type RouteLimit = Window & {
  /** What the headers say when it is not what is enforced (reactions). */
  advertised?: Window;
  /** The scope that a 429 names; `shared` ones are not held against the bot. */
  scope?: "user" | "shared";
};

/**
 * All numbers. Discord documents only the global limit, the gateway's and the command creations; the rest was
 * measured by the community and may change, which is why a bot must follow the headers.
 */
export type Limits = {
  globalPerSecond: number;
  /** By `METHOD /route`; the bucket is shared by everything with the same top-level id. */
  routes: Record<string, RouteLimit>;
  /** Every route that is not named above. */
  otherRoutes: RouteLimit;
  /** Edits of messages older than `ageMs`: 429 with code 30046 while the bucket's headers look healthy. */
  oldMessageEdits: Window & { ageMs: number };
  /** Name or topic changes of one channel or thread; hidden behind healthy headers too. */
  renames: Window;
  activeThreads: number;
  /** Of one server, threads left out. */
  channels: number;
  /** Most roles of one server, @everyone counted in. */
  roles: number;
  commandCreatesPerDay: number;
  /** IDENTIFY: one per window (max_concurrency 1), `total` a day. */
  identify: { windowMs: number; total: number };
  gatewaySends: Window;
  gatewayPayloadBytes: number;
  fileBytes: number;
  requestBytes: number;
  nonceWindowMs: number;
  interactionAckMs: number;
  interactionTokenMs: number;
  cdnLinkMs: number;
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

export const DEFAULT_LIMITS: Limits = {
  globalPerSecond: 50,
  routes: {
    "POST /channels/:channel/messages": { limit: 5, perMs: 5 * SECOND },
    "PATCH /channels/:channel/messages/:message": { limit: 5, perMs: 5 * SECOND },
    "DELETE /channels/:channel/messages/:message": { limit: 5, perMs: 1 * SECOND },
    "PATCH /channels/:channel": { limit: 10, perMs: 15 * SECOND },
    "PUT /channels/:channel/messages/:message/reactions/:emoji/@me": {
      limit: 1,
      perMs: 250,
      advertised: { limit: 1, perMs: SECOND },
    },
    "POST /channels/:channel/threads": { limit: 10, perMs: 10 * SECOND, scope: "shared" },
    "POST /channels/:channel/messages/:message/threads": { limit: 10, perMs: 10 * SECOND, scope: "shared" },
    "POST /webhooks/:webhook/:token": { limit: 5, perMs: 2 * SECOND },
    "PATCH /webhooks/:webhook/:token/messages/:message": { limit: 5, perMs: 2 * SECOND },
    "GET /gateway/bot": { limit: 2, perMs: 5 * SECOND },
  },
  otherRoutes: { limit: 10, perMs: 1 * SECOND },
  oldMessageEdits: { limit: 3, perMs: 6 * SECOND, ageMs: 60 * MINUTE },
  renames: { limit: 2, perMs: 10 * MINUTE },
  activeThreads: 1000,
  channels: 500,
  roles: 250,
  commandCreatesPerDay: 200,
  identify: { windowMs: 5 * SECOND, total: 1000 },
  gatewaySends: { limit: 120, perMs: MINUTE },
  gatewayPayloadBytes: 4096,
  fileBytes: 10 * 1024 * 1024,
  requestBytes: 25 * 1024 * 1024,
  nonceWindowMs: 5 * MINUTE,
  interactionAckMs: 3 * SECOND,
  interactionTokenMs: 15 * MINUTE,
  cdnLinkMs: 24 * 60 * MINUTE,
};

/** Anything to change; `routes` are merged by key, every other field replaces. */
export function mergeLimits(overrides: Partial<Limits> = {}): Limits {
  return {
    ...DEFAULT_LIMITS,
    ...overrides,
    routes: { ...DEFAULT_LIMITS.routes, ...overrides.routes },
  };
}

/** Limits so wide that a test never meets one; the shape of the headers stays. */
export const WIDE_LIMITS: Partial<Limits> = {
  globalPerSecond: 1_000_000,
  routes: Object.fromEntries(
    Object.keys(DEFAULT_LIMITS.routes).map((route) => [route, { limit: 1_000_000, perMs: SECOND }]),
  ),
  otherRoutes: { limit: 1_000_000, perMs: SECOND },
  identify: { windowMs: 0, total: 1_000_000 },
};

export type Verdict =
  | { isAllowed: true; headers: Record<string, string> }
  | {
      isAllowed: false;
      scope: "user" | "shared" | "global";
      retryAfterMs: number;
      headers: Record<string, string>;
    };

type Count = { used: number; resetAt: number };

export class RateLimiter {
  readonly #limits: Limits;
  readonly #now: () => number;
  readonly #counts = new Map<string, Count>();

  constructor(limits: Limits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Counts one request. `major` is the top-level resource (channel, guild, or webhook with token) that the
   * bucket belongs to. Interaction callbacks and webhooks are exempt from the global limit.
   */
  take(request: { route: string; major: string; isGlobalExempt: boolean }): Verdict {
    const now = this.#now();
    if (!request.isGlobalExempt) {
      const second = { limit: this.#limits.globalPerSecond, perMs: SECOND };
      const waitMs = this.#count("global", second, now);
      if (waitMs !== undefined)
        return { isAllowed: false, scope: "global", retryAfterMs: waitMs, headers: {} };
    }
    const limit = this.#limits.routes[request.route] ?? this.#limits.otherRoutes;
    const key = `${request.route} ${request.major}`;
    const waitMs = this.#count(key, limit, now);
    const headers = this.#headers(request.route, limit, this.#counts.get(key), now);
    if (waitMs === undefined) return { isAllowed: true, headers };
    return { isAllowed: false, scope: limit.scope ?? "user", retryAfterMs: waitMs, headers };
  }

  /** Counts against a limit that the headers do not show. Returns the wait in ms when it is used up. */
  takeHidden(name: string, limit: Window): number | undefined {
    return this.#count(`hidden ${name}`, limit, this.#now());
  }

  #count(key: string, limit: Window, now: number): number | undefined {
    const known = this.#counts.get(key);
    const count = known && known.resetAt > now ? known : { used: 0, resetAt: now + limit.perMs };
    this.#counts.set(key, count);
    if (count.used >= limit.limit) return count.resetAt - now;
    count.used += 1;
    if (this.#counts.size > 50_000) this.#forgetExpired(now);
    return undefined;
  }

  #forgetExpired(now: number): void {
    for (const [key, count] of this.#counts) if (count.resetAt <= now) this.#counts.delete(key);
  }

  #headers(route: string, limit: RouteLimit, count: Count | undefined, now: number): Record<string, string> {
    const shown = limit.advertised ?? limit;
    const resetAt = limit.advertised ? now + limit.advertised.perMs : (count?.resetAt ?? now);
    const used = count?.used ?? 0;
    return {
      "x-ratelimit-limit": String(shown.limit),
      "x-ratelimit-remaining": String(Math.max(0, shown.limit - used)),
      "x-ratelimit-reset": (resetAt / 1000).toFixed(3),
      "x-ratelimit-reset-after": (Math.max(0, resetAt - now) / 1000).toFixed(3),
      "x-ratelimit-bucket": bucketHash(route),
    };
  }
}

/** Opaque, the same for every top-level id: discord.js keys its queues by hash × id. */
function bucketHash(route: string): string {
  return createHash("sha256").update(route).digest("hex").slice(0, 32);
}
