/**
 * The short way of an input, past Express, whose part is a sixth of the time from a key to its echo. It takes a request
 * with the right token in the form in which clients send it. Every other request, also every one to be refused for
 * what its head says, goes through Express. What is done with an input is the same function on both ways.
 */
import type { IncomingMessage, RequestListener } from "node:http";
import { MAX_BODY_BYTES, threadIdSchema } from "../../shared/api.ts";
import type { Log } from "../../shared/log.ts";
import { markKnown } from "../callers/known.ts";
import type { TokenCheck } from "../callers/token.ts";
import type { Homes } from "../threads/homes.ts";
import { answer } from "./exchange.ts";
import { answerFailure, noJson } from "./failures.ts";
import type { RequestLog } from "./guard.ts";
import { INPUT_ROUTE, type TakeInput } from "./input-routes.ts";
import type { Metrics } from "./metrics.ts";

export interface InputDoorOptions {
  takeInput: TakeInput;
  homes: Pick<Homes, "resolve">;
  checkToken: TokenCheck;
  metrics: Pick<Metrics, "measureAnswer">;
  requestLog: RequestLog;
  log: Log;
}

/** @param app takes every other request. */
export function inputDoor(options: InputDoorOptions, app: RequestListener): RequestListener {
  const { takeInput, homes, checkToken, metrics, requestLog, log } = options;
  return (request, response) => {
    const name = findName(request);
    const isTaken = name !== undefined && hasPlainBody(request) && checkToken(request.headers.authorization);
    if (!isTaken) return app(request, response);
    markKnown(request.socket);
    let threadId = name;
    metrics.measureAnswer("POST", response, () => INPUT_ROUTE);
    requestLog.add(request, response, () => ({
      route: INPUT_ROUTE,
      threadId,
      isRead: false,
      isKnown: true,
    }));
    const take = async (body: Buffer) => {
      threadId = homes.resolve(name);
      answer(response, await takeInput(threadId, parseJson(body)));
    };
    response.statusCode = 400; // for the log and the metrics, if the body breaks off
    whenWhole(request, (body) => {
      take(body).catch((error: unknown) => {
        answerFailure(log, error, { method: "POST", path: request.url ?? "" }, response);
      });
    });
  };
}

/** The thread of a request for an input; undefined also if its id must be refused. */
function findName({ method, url = "" }: IncomingMessage): string | undefined {
  if (method !== "POST") return undefined;
  const name = /^\/thread\/([\w-]{1,32})\/input$/.exec(url)?.[1];
  return threadIdSchema.safeParse(name).success ? name : undefined;
}

/** A whole body of JSON in UTF-8, of a length that is known and allowed. */
function hasPlainBody({ headers }: IncomingMessage): boolean {
  const length = Number(headers["content-length"] ?? 0);
  return (
    headers["content-type"] === "application/json" &&
    headers["content-encoding"] === undefined &&
    headers["transfer-encoding"] === undefined &&
    length > 0 &&
    length <= MAX_BODY_BYTES
  );
}

/** Never calls `act` for a request that breaks off. */
function whenWhole(request: IncomingMessage, act: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.once("end", () => act(Buffer.concat(chunks)));
}

/** As Express' parser has it: with or without a byte order mark, an object or an array. */
function parseJson(body: Buffer): unknown {
  const text = body.toString("utf8").replace(/^\uFEFF/, "");
  if (!/^[ \t\n\r]*[[{]/.test(text)) throw noJson();
  try {
    return JSON.parse(text);
  } catch {
    throw noJson(); // the parser's own words may hold what was sent
  }
}
