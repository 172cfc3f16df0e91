/** What Discord's refusals mean: for the code that meets one, and in words for whoever asked. */
import { DiscordAPIError, HTTPError, RateLimitError } from "discord.js";
import * as z from "zod";
import { clip } from "../../shared/clip.ts";
import { AppError } from "../../shared/errors.ts";
import { errorSentence } from "../content/texts.ts";

/** What a refusal means for the caller; anything else stays the error that it was. */
export type Refusal =
  | "unknown channel"
  | "unknown message"
  | "archived"
  | "locked"
  | "forbidden"
  | "has a thread";

const REFUSALS: Record<number, Refusal> = {
  10003: "unknown channel",
  10008: "unknown message",
  50083: "archived",
  160005: "locked",
  50001: "forbidden",
  50013: "forbidden",
  160004: "has a thread",
};

/** Why a relay can't start, for a person, with what to do. */
export const REFUSED_TOKEN = "Discord refused the bot's token: check DISCORD_TOKEN.";
export const NO_MESSAGE_CONTENT =
  "The bot may not read messages: switch on the Message Content intent (Developer Portal → your application → Bot → Privileged Gateway Intents).";
export const NO_CHANNEL =
  "DISCORD_CHANNEL_ID names no channel of a server that the bot can see: invite it, and let it view the channel.";

const MAX_WORDS = 1_000;

export function findRefusal(error: unknown): Refusal | undefined {
  return error instanceof DiscordAPIError ? REFUSALS[Number(error.code)] : undefined;
}

/** Codes of 4xx answers that say nothing of what was sent: who asks, where, or a proxy before Discord. */
const NOT_OF_CONTENT = new Set([0, 40001, 40002, 40333, 50008, 50024, 160006]);
const NOT_OF_CONTENT_STATUS = new Set([401, 408, 429]);

/**
 * Discord's words if it will never take this request as it is: a text that is too long, a link that it holds for
 * harmful. Undefined of everything else, also of what {@link findRefusal} knows.
 * @param hasFile whether the request brings a file of ours, which takes a permission of its own.
 */
export function findRejection(error: unknown, { hasFile = false } = {}): string | undefined {
  if (!(error instanceof DiscordAPIError)) return undefined;
  const { status, code, message } = error;
  const refusal = findRefusal(error);
  if (refusal !== undefined) return hasFile && refusal === "forbidden" ? message : undefined;
  if (status < 400 || status >= 500 || NOT_OF_CONTENT_STATUS.has(status)) return undefined;
  if (status !== 413 && (!Number.isInteger(code) || NOT_OF_CONTENT.has(Number(code)))) return undefined;
  return `${message} (code ${code})`;
}

/** Whether the same request may succeed later: the connection failed, or Discord did (5xx). */
export function isTransient(error: unknown): boolean {
  if (error instanceof AppError || error instanceof DiscordAPIError || error instanceof z.ZodError)
    return false;
  if (error instanceof HTTPError) return error.status >= 500;
  return error instanceof Error; // the connection: refused, reset, closed, too slow
}

/** Milliseconds that Discord, or discord.js on its behalf, wants us to wait; undefined if that is not the matter. */
export function findRetryAfterMs(error: unknown): number | undefined {
  if (!(error instanceof RateLimitError)) return undefined;
  // After a 429 `retryAfter` is Discord's word; without that header only the bucket's reset is known.
  return Math.max(error.retryAfter || error.timeToReset, error.sublimitTimeout, 50);
}

/**
 * Discord's refusal as a sentence for the person who caused it.
 * @param what the bot was about to do, as in "I may not … here".
 * @returns undefined if Discord did not refuse anything.
 */
export function findRefusalSentence(error: unknown, what = "do that"): string | undefined {
  if (!(error instanceof DiscordAPIError)) return undefined;
  const words = clip(error.message, MAX_WORDS); // it names each field that is wrong
  switch (Number(error.code)) {
    case 50001:
    case 50013:
      return `I may not ${what} here: Discord says "${words}". Somebody who manages this server has to give me that permission.`;
    case 160006:
      return "This server has as many active threads as Discord allows (1,000): archive some, then try again.";
    case 10003:
      return "Discord no longer has that channel or thread.";
    case 160005:
    case 50083:
      return "That thread is archived or locked, so Discord lets me write nothing there.";
    default:
      return `Discord refused: ${words} (code ${error.code}).`;
  }
}

/**
 * Why the relay can't start, and what to do about it; undefined if trying again may help.
 * @param what the relay was about to do, as in "Discord does not let the bot …".
 */
export function findStartProblem(error: unknown, what: string): string | undefined {
  if (error instanceof AppError) {
    return error.code === "unauthorized"
      ? "RELAY_TOKEN: the sidecar refuses it; it must be the one that the sidecar takes."
      : undefined;
  }
  if (!(error instanceof DiscordAPIError) || error.status >= 500) return undefined;
  if (error.status === 401) return REFUSED_TOKEN;
  if (findRefusal(error) === "forbidden") {
    return `Discord does not let the bot ${what} ("${error.message}"): invite it again with the scopes bot and applications.commands and the permissions that the README names.`;
  }
  return `Discord refused to ${what}: ${error.message} (code ${error.code}).`;
}

/** What went wrong, for the person who caused it: our own words, Discord's, or that the log knows. */
export function sentenceOf(error: unknown): string {
  return findRefusalSentence(error) ?? errorSentence(error);
}
