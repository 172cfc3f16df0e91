/** What stands before every route: who may come in, how often one may guess, and a log line for each request. */
import { randomUUID } from "node:crypto";
import type { Request, RequestHandler } from "express";
import { AppError } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { routeOf } from "./metrics.ts";
import type { TokenCheck } from "./token.ts";

const GUESSES_PER_MINUTE = 20;
const SLOW_ANSWER_MS = 2_000;
const MINUTE_MS = 60_000;
/** Addresses that are remembered at once; beyond it the oldest is forgotten. */
const MAX_ADDRESSES = 10_000;

/**
 * Counts wrong tokens by address. After 20 within a minute, each further refusal of that address takes 2 s; one with
 * the right token never waits.
 */
export class WrongTokens {
  readonly #guesses = new Map<string, { count: number; since: number }>();
  readonly #now: () => number;
  readonly #onWrong: () => void;

  constructor({ now, onWrong }: { now: () => number; onWrong: () => void }) {
    this.#now = now;
    this.#onWrong = onWrong;
  }

  /** Resolves when the refusal may be answered. */
  async count(address = ""): Promise<void> {
    this.#onWrong();
    const known = this.#guesses.get(address);
    const now = this.#now();
    const guess = known && now - known.since < MINUTE_MS ? known : { count: 0, since: now };
    guess.count += 1;
    this.#guesses.delete(address);
    this.#guesses.set(address, guess);
    const [oldest] = this.#guesses.keys();
    if (this.#guesses.size > MAX_ADDRESSES && oldest !== undefined) this.#guesses.delete(oldest);
    if (guess.count > GUESSES_PER_MINUTE) await pause(SLOW_ANSWER_MS);
  }
}

export interface TokenGuardOptions {
  checkToken: TokenCheck;
  /** What needs no token: a signed-in console. */
  mayPass: (request: Request) => boolean;
  wrongTokens: WrongTokens;
}

/** Lets in who has the token. */
export function requireToken({ checkToken, mayPass, wrongTokens }: TokenGuardOptions): RequestHandler {
  return async (req, _res, next) => {
    if (mayPass(req) || checkToken(req.headers.authorization)) return next();
    await wrongTokens.count(req.socket.remoteAddress);
    throw new AppError("unauthorized", "A valid token is needed: Authorization: Bearer <VM_TOKEN>.");
  };
}

/**
 * One line a request with its id (also in the answer, as `x-request-id`); never a query, a body or a header. Reads
 * that went well are many and stay on level debug.
 */
export function logRequests(log: Log): RequestHandler {
  return (req, res, next) => {
    const requestId = randomUUID();
    const startedAt = performance.now();
    res.setHeader("x-request-id", requestId);
    res.on("close", () => {
      const { statusCode: status } = res;
      const isRead = req.method === "GET" || req.path === "/threads/output" || req.method === "PUT";
      const level = status >= 500 ? "warn" : isRead && status < 400 ? "debug" : "info";
      const threadId: unknown = req.params?.["id"];
      log[level](
        {
          requestId,
          method: req.method,
          route: routeOf(req),
          status,
          ms: Math.round((performance.now() - startedAt) * 10) / 10,
          ...(typeof threadId === "string" ? { threadId: threadId.slice(0, 32) } : {}),
          ...(res.writableFinished ? {} : { isAborted: true }),
        },
        "request",
      );
    });
    next();
  };
}
