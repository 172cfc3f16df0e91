/** What stands before every route: who may come in, how often one may guess, and a log line for each request. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request, RequestHandler } from "express";
import { AppError } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { markKnown } from "../callers/known.ts";
import type { TokenCheck } from "../callers/token.ts";
import { Addresses } from "./addresses.ts";
import { afterwards } from "./afterwards.ts";
import { routeOf } from "./exchange.ts";
import type { RefusalLog } from "./refusal-log.ts";

const GUESSES_PER_MINUTE = 20;
const SLOW_ANSWER_MS = 2_000;
const MINUTE_MS = 60_000;
/** A refusal that would wait longer is not answered: each holds a connection while it waits. */
const LONGEST_WAIT_MS = 20_000;
const MAX_ADDRESSES = 10_000;

/**
 * Slows guessing down, by address and over all its connections: after 20 wrong tokens within a minute it gets one
 * refusal in 2 s. A request with the right token never waits, so that nobody who shares an address with a guesser
 * (behind a proxy everybody does) is locked out.
 */
export class WrongTokens {
  readonly #guesses = new Addresses(MAX_ADDRESSES, () => ({ count: 0, since: 0, lastAnswerAt: 0 }));
  readonly #now: () => number;
  readonly #onWrong: () => void;

  constructor({ now, onWrong }: { now: () => number; onWrong: () => void }) {
    this.#now = now;
    this.#onWrong = onWrong;
  }

  /** Resolves when the refusal may be answered; false: never, its connection is to be cut. */
  async mayAnswer(address: string | undefined): Promise<boolean> {
    this.#onWrong();
    const guesses = this.#guesses.get(address);
    const now = this.#now();
    if (now - guesses.since >= MINUTE_MS) Object.assign(guesses, { count: 0, since: now });
    // The clock was set back: nobody waits for what was to be answered by the old one.
    if (now < guesses.since) Object.assign(guesses, { count: 0, since: now, lastAnswerAt: now });
    guesses.count += 1;
    if (guesses.count <= GUESSES_PER_MINUTE) return true;
    const answerAt = Math.max(guesses.lastAnswerAt, now) + SLOW_ANSWER_MS;
    if (answerAt - now > LONGEST_WAIT_MS) return false;
    guesses.lastAnswerAt = answerAt;
    await pause(answerAt - now);
    return true;
  }
}

/** In a response's `locals`: who sent the request has the token, or a session of the console. */
const IS_KNOWN = "isKnown";

export interface TokenGuardOptions {
  checkToken: TokenCheck;
  /** What needs no token: a signed-in console. */
  mayPass: (request: Request) => boolean;
  wrongTokens: WrongTokens;
}

/** Lets in who has the token. */
export function requireToken({ checkToken, mayPass, wrongTokens }: TokenGuardOptions): RequestHandler {
  return async (req, res, next) => {
    if (mayPass(req) || checkToken(req.headers.authorization)) {
      res.locals[IS_KNOWN] = true;
      markKnown(req.socket);
      return next();
    }
    if (!(await wrongTokens.mayAnswer(req.socket.remoteAddress))) return void req.socket.destroy();
    throw new AppError("unauthorized", "A valid token is needed: Authorization: Bearer <VM_TOKEN>.");
  };
}

/** What the log says of a request, known once it is over. */
export interface LoggedRequest {
  route: string;
  threadId: unknown;
  isRead: boolean;
  /** Whoever sent it has the token, or a session of the console. */
  isKnown: boolean;
}

/**
 * One line a request with its id (also in the answer, as `x-request-id`); never a query, a body or a header. Reads
 * that went well are many and stay on level debug. What anybody may send has no line above debug: refusals are
 * counted.
 */
export class RequestLog {
  readonly #log: Log;
  readonly #refusals: RefusalLog;

  constructor(log: Log, refusals: RefusalLog) {
    this.#log = log;
    this.#refusals = refusals;
  }

  /** As it stands before Express' routes. */
  handler(): RequestHandler {
    return (req, res, next) => {
      this.add(req, res, () => ({
        route: routeOf(req),
        threadId: req.params?.["id"],
        isRead: req.method === "GET" || req.path === "/threads/output" || req.method === "PUT",
        isKnown: res.locals[IS_KNOWN] === true,
      }));
      next();
    };
  }

  add(request: IncomingMessage, response: ServerResponse, describe: () => LoggedRequest): void {
    const requestId = randomUUID();
    const startedAt = performance.now();
    const { remoteAddress } = request.socket; // gone when the connection is
    response.setHeader("x-request-id", requestId);
    response.on("close", () => {
      const ms = Math.round((performance.now() - startedAt) * 10) / 10;
      afterwards(() => {
        const { statusCode: status, writableFinished } = response;
        const { route, threadId, isRead, isKnown } = describe();
        if (!isKnown && (status >= 400 || !writableFinished)) return this.#refusals.note(remoteAddress);
        const level = status >= 500 ? "warn" : !isKnown || (isRead && status < 400) ? "debug" : "info";
        this.#log[level](
          {
            requestId,
            method: request.method,
            route,
            status,
            ms,
            ...(typeof threadId === "string" ? { threadId: threadId.slice(0, 32) } : {}),
            ...(writableFinished ? {} : { isAborted: true }),
          },
          "request",
        );
      });
    });
  }
}
