/** Faults on demand: what the network and Discord's front do to a request, decided by a hook per request. */
import { seededRandom } from "../shared/random.ts";

/**
 * - `stall`: no answer ever (`isApplied`: the request took effect all the same).
 * - `stall-body`: headers and half of the body, then nothing; took effect.
 * - `drop`: the connection ends by FIN or RST without an answer.
 * - `status`: a 5xx (or any status) instead of the work; `isHtml` like a proxy's error page, `body` as Discord words a refusal.
 * - `rate-limit`: a 429 that no bucket asked for; `hasHeaders: false` leaves out Retry-After.
 * Every fault may come after `latencyMs`; `pass` is only that.
 */
export type Fault = { latencyMs?: number } & (
  | { kind: "pass" }
  | { kind: "stall"; isApplied: boolean }
  | { kind: "stall-body" }
  | { kind: "drop"; how: "fin" | "rst"; isApplied: boolean }
  | { kind: "status"; status: number; isHtml?: boolean; body?: { code: number; message: string } }
  | { kind: "rate-limit"; scope: "user" | "shared" | "global"; retryAfterMs: number; hasHeaders?: boolean }
);

export type FaultRequest = {
  method: string;
  /** The route as in stats: `PATCH /channels/:channel/messages/:message`. */
  route: string;
  path: string;
  body: unknown;
};

export type FaultHook = (request: FaultRequest) => Fault | undefined;

/** Every request draws: with `probability` one of `faults`, the same ones for the same `seed`. */
export function randomFaults(options: {
  seed: number;
  probability: number;
  faults: readonly Fault[];
  /** Requests that are never touched when this says false. */
  filter?: (request: FaultRequest) => boolean;
}): FaultHook {
  const random = seededRandom(options.seed);
  return (request) => {
    if (options.filter && !options.filter(request)) return undefined;
    if (random() >= options.probability) return undefined;
    return options.faults[Math.floor(random() * options.faults.length)];
  };
}

/** `count` faults in a row for the requests that `filter` picks, then none. */
export function faultBurst(
  count: number,
  fault: Fault,
  filter: (request: FaultRequest) => boolean = () => true,
): FaultHook {
  let left = count;
  return (request) => {
    if (left <= 0 || !filter(request)) return undefined;
    left -= 1;
    return fault;
  };
}
