/** The hook's door: a listener of its own that takes what programs elsewhere send, and serves nothing else. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { AppError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { markKnown } from "../callers/known.ts";
import type { Hook, Intake } from "../hooks/intake.ts";
import { judgeProof } from "../hooks/proof.ts";
import { answer } from "./exchange.ts";
import { answerFailure } from "./failures.ts";
import { RequestLog, type WrongTokens } from "./guard.ts";
import { RawBodies } from "./raw-body.ts";
import type { RefusalLog } from "./refusal-log.ts";

const BODY_LIMITS = { maxBytes: 1024 * 1024, maxTotalBytes: 32 * 1024 * 1024 };
const RETRIED: ReadonlySet<string> = new Set(["unavailable", "rate_limited"]);
const RETRY_SECONDS = 60;

export interface HookDoorOptions {
  /** By name; undefined if there is none. */
  findHook: (name: string) => Hook | undefined;
  /** Finds a heartbeat's state for a monitor; undefined if there is none of this name. */
  findHeartbeat: (job: string) => { ok: boolean } | undefined;
  intake: Pick<Intake, "take">;
  /** The wrong tokens at this door alone. */
  wrongTokens: Pick<WrongTokens, "mayAnswer">;
  refusalLog: RefusalLog;
  now: () => number;
  log: Log;
}

const WHAT_IT_IS =
  "This is a hook of threadmux. A program sends its news here, with POST and a signature or a secret.\n";

export function createHookDoor(options: HookDoorOptions): RequestListener {
  const { log, refusalLog } = options;
  const door = new HookDoor(options);
  const requestLog = new RequestLog(log, refusalLog);
  return (request, response) => {
    const { method = "", url = "" } = request;
    const heartbeat = /^\/heartbeat\/([^/?#]*)(?:[?#]|$)/.exec(url)?.[1];
    const name = /^\/hook\/([^/?#]*)(?:[?#]|$)/.exec(url)?.[1];
    const route =
      name !== undefined ? "/hook/:name" : heartbeat !== undefined ? "/heartbeat/:job" : "unknown";
    requestLog.add(request, response, () => ({ route, threadId: undefined, isQuiet: true }));
    response.setHeader("cache-control", "no-store");
    response.setHeader("x-content-type-options", "nosniff");
    response.statusCode = 400; // for the log, if the body breaks off
    door.answer(method, { name, heartbeat }, request, response).catch((error: unknown) => {
      if (error instanceof AppError && RETRIED.has(error.code))
        response.setHeader("retry-after", RETRY_SECONDS);
      // The route, not the path: a name of a hook is nobody's to read in a log.
      answerFailure(log, error, { method, path: route }, response);
    });
  };
}

class HookDoor {
  readonly #options: HookDoorOptions;
  readonly #bodies = new RawBodies(BODY_LIMITS);

  constructor(options: HookDoorOptions) {
    this.#options = options;
  }

  async answer(
    method: string,
    { name, heartbeat }: { name: string | undefined; heartbeat: string | undefined },
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    if (heartbeat !== undefined) return await this.#tell(method, heartbeat, request, response);
    if (name === undefined)
      throw new AppError("not_found", "There are only POST /hook/<name> and GET /heartbeat/<job> here.");
    if (method === "GET" || method === "HEAD") return explain(response);
    if (method !== "POST") {
      response.setHeader("allow", "POST, GET, HEAD");
      return answer(response, { error: "A hook takes POST.", code: "invalid_request" }, 405);
    }
    await this.#take(name, request, response);
  }

  async #take(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { findHook, intake, now } = this.#options;
    const sent = { headers: request.headers, body: await this.#bodies.read(request) };
    const hook = findHook(name);
    const verdict = judgeProof(hook && { ...hook, proof: hook.settings.proof }, sent, now());
    if (!hook || verdict.kind === "wrong") return await this.#refuse(request);
    markKnown(request);
    if (verdict.kind === "stale")
      throw new AppError(
        "invalid_request",
        `${verdict.header}: its time is missing, or more than 300 s from that of this machine.`,
      );
    const { id, outcome } = await intake.take(hook, sent);
    answer(response, { id, accepted: outcome === "taken" }, 202);
  }

  /** A client that guesses names is held up as one that guesses secrets. */
  async #tell(
    method: string,
    job: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    if (method !== "GET" && method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      return answer(response, { error: "A heartbeat takes GET.", code: "invalid_request" }, 405);
    }
    const { findHeartbeat, wrongTokens } = this.#options;
    const found = findHeartbeat(job);
    if (found) return answer(response, found, found.ok ? 200 : 503);
    if (await wrongTokens.mayAnswer(request.socket.remoteAddress))
      throw new AppError("not_found", "There is no such heartbeat.");
    request.socket.destroy();
  }

  /** A name that no hook has and a wrong secret are one and the same to who asks. */
  async #refuse(request: IncomingMessage): Promise<void> {
    const { wrongTokens } = this.#options;
    if (await wrongTokens.mayAnswer(request.socket.remoteAddress))
      throw new AppError("not_found", "There is no such hook, or its signature or secret is wrong.");
    request.socket.destroy();
  }
}

function explain(response: ServerResponse): void {
  response.statusCode = 200;
  response.setHeader("content-type", "text/plain; charset=utf-8");
  response.end(WHAT_IT_IS);
}
