/**
 * How many children agents may have in a time, ended ones too: each is a thread that people see, so an agent that
 * spawns and ends children in a loop is stopped. Pure.
 */
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";

const HOUR_MS = 3_600_000;
const PERIOD_MS = 24 * HOUR_MS;
/** How many children of one thread. */
const MAX_OF_ONE = 50;
/** How many children of a thread that nobody spawned, and of all below it. */
const MAX_OF_FAMILY = 100;

/** A child as the sidecar knows it, whether it goes on or not. */
export interface Spawned {
  readonly parentId: ThreadId;
  readonly createdAt: number;
}

/**
 * @param family the children of all threads of the family
 * @throws AppError `unsupported` in words for the model
 */
export function refuseTooMany(family: readonly Spawned[], parentId: ThreadId, now: number): void {
  // A clock that was set back keeps nobody from spawning for longer than the period.
  const recent = family.filter(({ createdAt }) => Math.abs(now - createdAt) < PERIOD_MS);
  check(
    recent.filter((child) => child.parentId === parentId),
    MAX_OF_ONE,
    "A thread",
    now,
  );
  check(recent, MAX_OF_FAMILY, "A thread and all that descend from it", now);
}

function check(children: readonly Spawned[], max: number, who: string, now: number): void {
  if (children.length < max) return;
  const times = children.map(({ createdAt }) => createdAt).sort((a, b) => a - b);
  // One more is below the limit once this many have grown old.
  const freeAt = (times[children.length - max] ?? now) + PERIOD_MS;
  const hours = Math.max(1, Math.ceil((freeAt - now) / HOUR_MS));
  throw new AppError(
    "unsupported",
    `${who} may spawn ${max} children in 24 hours, ended ones included. Do the rest yourself, or give an open child more to do with message; the next one may be spawned in about ${hours} ${hours === 1 ? "hour" : "hours"}.`,
  );
}
