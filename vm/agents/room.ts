/** How many agents there may be. Idle ones keep no process, and do not count. */
import { AppError } from "../../shared/errors.ts";
import type { Store } from "../store/store.ts";

/** Agents that work with a process each. */
const MAX_BUSY = 200;
/** These, and agents that wait for a place without a process. */
const MAX_OPEN_TURNS = 1_000;

/** @throws AppError `too_many_agents` */
export function refuseIfFull(store: Store): void {
  const busy = store.threads.countOpen("agent", ({ status }) => status === "running");
  const atWork = busy + store.agents.countAsleep();
  if (busy < MAX_BUSY && atWork < MAX_OPEN_TURNS) return;
  throw new AppError(
    "too_many_agents",
    `${atWork} agents are at work or wait for a place; let some of them come to their end, or end one.`,
  );
}
