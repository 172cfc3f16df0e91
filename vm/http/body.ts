/** Reading a request's body of JSON. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { json, type Request, type Response } from "express";
import { MAX_BODY_BYTES } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { formatCount } from "../../shared/format-count.ts";

const JSON_TYPE = "application/json";

/**
 * @returns undefined if there is no body. Never returns for a request that breaks off.
 * @throws AppError `invalid_request`, `too_large`
 */
export function readJson(request: IncomingMessage, response: ServerResponse): unknown {
  const { headers } = request;
  if (!hasBody(headers)) return undefined;
  if (!isOfType(headers, JSON_TYPE)) {
    throw new AppError("invalid_request", `The body must be JSON, with content-type: ${JSON_TYPE}.`);
  }
  // Clients send it like this. Express' parser takes everything else, such as compressed bodies; for an input it would
  // take a sixth of the time from a key to its echo.
  if (headers["content-type"] !== JSON_TYPE || headers["content-encoding"] || headers["transfer-encoding"]) {
    return readUnusual(request, response);
  }
  if (Number(headers["content-length"]) > MAX_BODY_BYTES) throw tooLarge();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.once("end", () => {
      try {
        resolve(parseJson(Buffer.concat(chunks)));
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** Whether the header names this content type, whatever its parameters. */
export function isOfType(headers: IncomingHttpHeaders, type: string): boolean {
  return headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase() === type;
}

export function tooLarge(): AppError {
  return new AppError("too_large", `The body may have at most ${formatCount(MAX_BODY_BYTES)} bytes.`);
}

/** What a body that can't be parsed is refused with. */
export function noJson(): AppError {
  return new AppError("invalid_request", "The body is not valid JSON.");
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

const parser = json({ limit: MAX_BODY_BYTES, type: () => true });

function readUnusual(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const sent = request as Request;
  return new Promise((resolve, reject) => {
    parser(sent, response as Response, (error?: unknown) => {
      if (error === undefined) resolve(sent.body);
      else if ((error as { type?: string }).type !== "request.aborted") reject(error);
    });
  });
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
