/** What a caller is told if its request fails, and which failures are bugs. */
import type { ServerResponse } from "node:http";
import type { ErrorRequestHandler } from "express";
import { AppError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { diskFull } from "../streams/disk.ts";
import { noJson, tooLarge } from "./body.ts";
import { answer } from "./exchange.ts";

export function answerError(log: Log): ErrorRequestHandler {
  return (error: unknown, req, res, _next) => answerFailure(log, error, req, res);
}

/** Tells the caller what went wrong, and the log if it is a bug. */
export function answerFailure(
  log: Log,
  error: unknown,
  { method, path }: { method: string; path: string },
  response: ServerResponse,
): void {
  const appError = toAppError(error);
  if (appError.code === "internal") log.error({ err: error, method, path }, "request failed");
  if (response.headersSent) return void response.destroy();
  answer(response, { error: appError.message, code: appError.code }, appError.status);
}

/** Express and body-parser throw errors with a status of their own; anything else that is not ours is a bug. */
function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { type, status, code } = error as { type?: string; status?: number; code?: string };
  if (code === "SQLITE_FULL" || code === "ENOSPC") {
    return diskFull(error);
  }
  if (type === "entity.too.large") return tooLarge();
  if (type === "entity.parse.failed") return noJson();
  if (status !== undefined && status >= 400 && status < 500) {
    return new AppError("invalid_request", `The request can't be read: ${(error as Error).message}.`);
  }
  return new AppError("internal", "Something went wrong in the sidecar; its log says what.", {
    cause: error,
  });
}
