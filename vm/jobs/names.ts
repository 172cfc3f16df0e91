/** How runs are called, and with them their threads and inputs: the same again finds what is there. */
import { hash } from "node:crypto";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";

/** The name of the run of a due instant. Two instants of one job lie a minute apart at least. */
export function runName(job: string, dueMs: number): string {
  return `${job}-${Math.floor(dueMs / 1_000)}`;
}

/** The name of the n-th run by hand. */
export function handRunName(job: string, madeAt: number, count: number): string {
  return `${job}-${Math.floor(madeAt / 1_000)}-h${count}`;
}

/** The thread of a run that has one of its own, or that a job's settings name. */
export function threadOf(name: string): ThreadId {
  return knownThreadId.parse(name);
}

/** The name of a run that requests or events brought, by the first one's id. */
export function broughtRunName(job: string, deliveryId: string): string {
  return `${job}-w${hash("sha256", deliveryId, "hex").slice(0, 16)}`;
}

/** The row that says that these jobs led to it, and that it is not started again. */
export function chainRunName(job: string, causes: readonly string[]): string {
  return `${job}-c${hash("sha256", causes.join(" "), "hex").slice(0, 16)}`;
}
