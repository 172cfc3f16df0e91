/** How the engine tells that the model's API refuses a call for good. */
import type { Round } from "./script.ts";

export type RoundError = NonNullable<Round["error"]>;

const TYPES: Record<number, string> = {
  400: "invalid_request_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

export interface Refusal {
  text: string;
  /** Fields of the line that says so, and of the result. */
  fields: Record<string, unknown>;
  /** Printed before: of a limit of the account's. */
  rateLimit?: Record<string, unknown>;
}

export function describeRefusal({ status, message, limit }: RoundError, nowMs: number): Refusal {
  const fields = { api_error_status: status, api_error_type: TYPES[status] ?? "api_error" };
  if (!limit) return { text: `API Error: ${status} ${message ?? `refused with ${status}`}`, fields };
  const { resetsInSeconds } = limit;
  const resetsAt = resetsInSeconds === undefined ? undefined : Math.ceil(nowMs / 1_000) + resetsInSeconds;
  const at = resetsAt === undefined ? {} : { resetsAt };
  const rateLimit = { status: "rejected", ...at, rateLimitType: "five_hour", isUsingOverage: false };
  const clock = resetsAt === undefined ? "" : ` · resets ${clockOf(resetsAt)}`;
  return {
    text: message ?? `You've hit your 5-hour limit${clock}`,
    fields: { ...fields, api_error: "usage_limit_reached" },
    rateLimit,
  };
}

function clockOf(seconds: number): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const options = { hour: "numeric", minute: "2-digit", hour12: true } as const;
  const clock = new Date(seconds * 1_000).toLocaleTimeString("en-US", options);
  return `${clock
    .replace(/:00(?=\s)/, "")
    .replace(/\s/g, "")
    .toLowerCase()} (${timeZone})`;
}
