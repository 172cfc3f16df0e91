/** How runs are called, and with them their threads and inputs: the same again finds what is there. */

import { knownThreadId, type ThreadId } from "../../shared/ids.ts";

/** Of a due instant. Two of one job lie a minute apart at least. */
export function runName(job: string, dueMs: number): string {
  return `${job}-${Math.floor(dueMs / 1_000)}`;
}

/** Of the n-th run by hand. */
export function handRunName(job: string, madeAt: number, count: number): string {
  return `${job}-${Math.floor(madeAt / 1_000)}-h${count}`;
}

/** The thread of a run that has one of its own, or that a job's settings name. */
export function threadOf(name: string): ThreadId {
  return knownThreadId.parse(name);
}
