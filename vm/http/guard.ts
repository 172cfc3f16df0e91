/** What stands before every route: who may come in, how often one may guess, and a log line for each request. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { CONSOLE, OWNER, type Principal, RELAY } from "../../shared/principal.ts";
import type { Route } from "../../shared/protocol/route.ts";
import { isKnown, markKnown } from "../callers/known.ts";
import type { People } from "../callers/people.ts";
import { inNameOf, rolesIn } from "../callers/person.ts";
import type { TokenCheck } from "../callers/token.ts";
import type { Console } from "../console/routes.ts";
import { Addresses } from "./addresses.ts";
import { afterwards } from "./afterwards.ts";
import type { RefusalLog } from "./refusal-log.ts";

const GUESSES_PER_MINUTE = 20;
const SLOW_ANSWER_MS = 2_000;
const MINUTE_MS = 60_000;
/** The console's account, which is no person's. */
const NO_ROUTE = { right: "none" } as const;
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

export interface GuardServices {
  /** Checks the owner's token. */
  checkToken: TokenCheck;
  checkRelayToken: TokenCheck;
  console: Pick<Console, "isSignedIn">;
  wrongTokens: WrongTokens;
  people: Pick<People, "judgeAnywhere" | "noteRoles">;
}

/** Knows by its credential who sends a request: the one place where a principal is made of a request to the API. */
export class Guard {
  readonly #services: GuardServices;

  constructor(services: GuardServices) {
    this.#services = services;
  }

  /**
   * @returns undefined if it is nobody who may call this route
   * @throws AppError `forbidden`, `invalid_request` if it names a person and may not, or one that may not
   */
  find(request: IncomingMessage, route: Pick<Route, "access" | "right"> = NO_ROUTE): Principal | undefined {
    const principal = this.#credentialOf(request, route);
    if (!principal) return undefined;
    markKnown(request);
    const named = inNameOf(principal, request.headers);
    if (route.right === "none" && named.kind === "person")
      throw new AppError("forbidden", "Threadmux-Person: leave it out. This is asked in no person's name.");
    const { people } = this.#services;
    const roles = rolesIn(request.headers);
    if (named.kind === "person" && roles) people.noteRoles(named.discordId, roles);
    people.judgeAnywhere(named);
    return named;
  }

  #credentialOf(request: IncomingMessage, { access }: { access?: Route["access"] }): Principal | undefined {
    const { checkToken, checkRelayToken, console } = this.#services;
    const { authorization } = request.headers;
    // Always both: how long it takes does not say which of them was nearly right.
    const [isOwner, isRelay] = [checkToken(authorization), checkRelayToken(authorization)];
    if (isOwner) return OWNER;
    if (isRelay) return RELAY;
    return access === "console" && console.isSignedIn(request) ? CONSOLE : undefined;
  }

  /** @returns once the connection was cut @throws AppError `unauthorized`, in its time */
  async refuse(request: IncomingMessage): Promise<"cut"> {
    if (await this.#services.wrongTokens.mayAnswer(request.socket.remoteAddress)) {
      throw new AppError("unauthorized", "A valid token is needed: Authorization: Bearer <VM_TOKEN>.");
    }
    request.socket.destroy();
    return "cut";
  }
}

/** What the log says of a request, known once it is over. */
export interface LoggedRequest {
  route: string;
  threadId: unknown;
  /** It changes nothing, or nothing twice. */
  isQuiet: boolean;
}

/**
 * One line a request with its id (also in the answer, as `x-request-id`); never a query, a body or a header. What is
 * quiet and went well is much and stays on level debug. What anybody may send has no line above debug: refusals are
 * counted.
 */
export class RequestLog {
  readonly #log: Log;
  readonly #refusals: RefusalLog;

  constructor(log: Log, refusals: RefusalLog) {
    this.#log = log;
    this.#refusals = refusals;
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
        const { route, threadId, isQuiet } = describe();
        const isFromKnown = isKnown(request);
        if (!isFromKnown && (status >= 400 || !writableFinished)) return this.#refusals.note(remoteAddress);
        const level = status >= 500 ? "warn" : !isFromKnown || (isQuiet && status < 400) ? "debug" : "info";
        this.#log[level](
          {
            requestId,
            method: request.method,
            route,
            status,
            ms,
            ...(typeof threadId === "string" ? { threadId: threadId.slice(0, 64) } : {}),
            ...(writableFinished ? {} : { isAborted: true }),
          },
          "request",
        );
      });
    });
  }
}
