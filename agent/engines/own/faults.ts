/** Why a call of the model came to nothing: whether it is worth another try, and a sentence for people. Pure. */
import { APICallError } from "ai";
import { errorText } from "../../../shared/errors.ts";
import { CutStream, LateAnswer } from "./call-model.ts";
import { SetupError } from "./provider.ts";
import { BrokenAnswer, LongAnswer } from "./transport.ts";

export interface Fault {
  /** For people. */
  sentence: string;
  mayTryAgain: boolean;
  /** The provider says when. */
  afterMs?: number;
  /** The conversation is longer than the model's context. */
  isTooLong?: true;
}

export interface Called {
  model: string;
  /** The variable of its key. */
  key: string;
  /** The provider, with the address if it is not the usual one. */
  place: string;
}

const MAX_WORDS = 300;
/** The provider may name a longer wait. Nobody waits that long without being asked. */
const MAX_AFTER_MS = 10 * 60_000;
export const MAX_TRIES = 6;

/** How long to wait before the next try. @param chance in 0..1, so that threads do not all come back at once */
export function waitMs(attempt: number, afterMs: number | undefined, chance: number): number {
  if (afterMs !== undefined) return Math.min(afterMs, MAX_AFTER_MS);
  return Math.min(60_000, 1_000 * 2 ** (attempt - 1) * (0.75 + chance / 2));
}

export function faultOf(error: unknown, called: Called, nowMs: number): Fault {
  if (error instanceof SetupError) return { sentence: error.message, mayTryAgain: false };
  const causes = causesOf(error);
  const isBroken = causes.some((cause) => cause instanceof BrokenAnswer);
  if (error instanceof CutStream || isBroken || isCutEarly(error))
    return { sentence: `${called.place} broke off in the midst of its answer.`, mayTryAgain: true };
  if (error instanceof LateAnswer)
    return { sentence: `${called.place}: ${error.message} (params.callSeconds).`, mayTryAgain: true };
  if (causes.some((cause) => cause instanceof LongAnswer))
    return { sentence: `${called.place}: its answer had no end, and was given up.`, mayTryAgain: false };
  if (APICallError.isInstance(error) && error.statusCode !== undefined) return refused(error, called, nowMs);
  const { type, words } = toldInStream(error);
  if (type !== undefined)
    return {
      sentence: `${called.place} failed in the midst of its answer: ${words}`,
      mayTryAgain: /overload|api_error|rate_limit|timeout|server/.test(type),
    };
  return unreachable(error, called);
}

/** Errors of the package itself: the same call would fail the same way. */
const OUR_FAULT =
  /^AI_(InvalidPrompt|InvalidArgument|InvalidMessageRole|MessageConversion|UnsupportedFunctionality|LoadAPIKey|LoadSetting|NoSuchModel)/;

/** The package says so of a stream that ends before it has said anything. */
function isCutEarly(error: unknown): boolean {
  return error instanceof Error && /without a finish (chunk|reason)/.test(error.message);
}

function refused(error: APICallError, called: Called, nowMs: number): Fault {
  const { statusCode: status = 0, responseHeaders = {} } = error;
  const { model, key, place } = called;
  const words = excerpt(wordsOf(error));
  const final = (sentence: string): Fault => ({
    sentence: `${sentence} It says: ${words}`,
    mayTryAgain: false,
  });
  if (isTooLong(status, words))
    return { ...final(`The conversation is longer than ${model} can read.`), isTooLong: true };
  if (isWithoutCredit(status, words))
    return final(`${place} lets this account call no model: no credit is left.`);
  if (status === 401 || (status === 403 && /key|auth/i.test(words)))
    return final(`${place} does not take the key in ${key} (${status}).`);
  if (
    status === 404 ||
    (status === 400 && /model/i.test(words) && /not (found|exist)|unknown|invalid model/i.test(words))
  )
    return final(`${place} knows no model ${JSON.stringify(model)} (${status}).`);
  const mayTryAgain = status === 408 || status === 409 || status === 429 || status >= 500;
  const afterMs = mayTryAgain ? retryAfter(responseHeaders, nowMs) : undefined;
  const sentence = `${place} refuses the call (${status}): ${words}`;
  return { sentence, mayTryAgain, ...(afterMs !== undefined && { afterMs }) };
}

function isTooLong(status: number, words: string): boolean {
  const told =
    /too long|context (length|window|size)|maximum context|exceeds the available context|too many tokens|context_length_exceeded/i;
  return status === 413 || (status === 400 && told.test(words));
}

function isWithoutCredit(status: number, words: string): boolean {
  return (
    status === 402 || /credit balance|insufficient_quota|exceeded your current quota|billing/i.test(words)
  );
}

/** `retry-after` in seconds or as a date, or a provider's own in milliseconds. */
function retryAfter(headers: Record<string, string>, nowMs: number): number | undefined {
  const exact = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (exact >= 0) return exact;
  const told = headers["retry-after"];
  if (told === undefined) return undefined;
  const seconds = Number(told);
  if (seconds >= 0) return seconds * 1_000;
  const at = Date.parse(told);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

function unreachable(error: unknown, { place }: Called): Fault {
  const code = codeOf(error);
  if (code !== undefined) return { sentence: `Nothing answers at ${place} (${code}).`, mayTryAgain: true };
  const isOurs = error instanceof Error && OUR_FAULT.test(error.name);
  return { sentence: `The call of ${place} failed: ${excerpt(errorText(error))}`, mayTryAgain: !isOurs };
}

/** The error and what lies behind it. */
function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  for (let at = error; at !== undefined && causes.length < 5; at = at instanceof Error ? at.cause : undefined)
    causes.push(at);
  return causes;
}

/** Finds the code of the network's failure, however deep it lies. */
function codeOf(error: unknown): string | undefined {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const { code } = at as NodeJS.ErrnoException;
    if (typeof code === "string") return code;
    if (at instanceof AggregateError && at.errors.length > 0) return codeOf(at.errors[0]);
  }
  return undefined;
}

/** A provider that has begun its answer can say a failure in its stream alone. */
function toldInStream(error: unknown): { type?: string; words: string } {
  const told = typeof error === "string" ? findJson(error) : error;
  if (typeof told !== "object" || told === null || told instanceof Error) return { words: "" };
  const inner = "error" in told && typeof told.error === "object" && told.error !== null ? told.error : told;
  const { type, code, message } = inner as { type?: unknown; code?: unknown; message?: unknown };
  const name = [type, code].find((one) => typeof one === "string");
  return { type: String(name ?? "server error"), words: excerpt(String(message ?? JSON.stringify(told))) };
}

function findJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { message: text }; // a sentence
  }
}

function wordsOf({ message, responseBody, statusCode }: APICallError): string {
  if (message.trim() !== "" || !responseBody) return message || `status ${statusCode}`;
  return responseBody;
}

function excerpt(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS - 1)}…` : line;
}
