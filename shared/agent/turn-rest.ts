/** Why a turn was cut off if nothing broke, and how that is told. Pure. */
import type { EventOf } from "./events.ts";

export type TurnRest = "paused" | "limit" | "provider" | "ask";

/** @param open the asks that nobody had answered when the engine ended */
export function restOf(
  { reason }: Pick<EventOf<"engine_end">, "reason">,
  open: readonly (EventOf<"permission_request"> | EventOf<"elicitation_request">)[],
): TurnRest | undefined {
  if (reason === "paused") return "paused";
  if (reason !== "parked") return undefined;
  const isAtLimit = open.some((request) => request.type === "permission_request" && request.limit);
  return isAtLimit || open.length === 0 ? "limit" : "ask";
}

/** Beginnings of a line or whole sentences, without their full stop. */
export const REST_TEXTS: Record<TurnRest, string> = {
  paused: "Paused",
  limit: "Stopped at a limit",
  provider: "The provider takes no more calls for now",
  ask: "Goes on once the ask is answered",
};
