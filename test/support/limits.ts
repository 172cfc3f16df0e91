/** Limits of Discord that close on demand. */
import type { Fault, FaultRequest } from "../../local-discord/faults.ts";
import type { LocalDiscord } from "../../local-discord/run.ts";

/** Answers 429 to what `isMeant` picks until it is opened, or the test ends, each time with so long to wait. */
export function shutBucket(
  driver: LocalDiscord["driver"],
  isMeant: (request: FaultRequest) => boolean,
  retryAfterMs: number,
): { hits: () => number; open: () => void } {
  let hits = 0;
  let isOpen = false;
  driver.faults.rest = (request): Fault | undefined => {
    if (isOpen || !isMeant(request)) return undefined;
    hits += 1;
    return { kind: "rate-limit", scope: "user", retryAfterMs };
  };
  const open = () => {
    isOpen = true;
  };
  return { hits: () => hits, open };
}

/** Answers 429 to what `isMeant` picks until `closedMs` have passed since the first such request. */
export function closeBucket(
  driver: LocalDiscord["driver"],
  isMeant: (request: FaultRequest) => boolean,
  closedMs: number,
  scope: "user" | "shared" | "global" = "user",
): { hits: () => number; closedAt: () => number | undefined } {
  let openAt: number | undefined;
  let hits = 0;
  driver.faults.rest = (request): Fault | undefined => {
    if (!isMeant(request)) return undefined;
    openAt ??= Date.now() + closedMs;
    const retryAfterMs = openAt - Date.now();
    if (retryAfterMs <= 0) return undefined;
    hits += 1;
    return { kind: "rate-limit", scope, retryAfterMs };
  };
  return { hits: () => hits, closedAt: () => openAt && openAt - closedMs };
}
