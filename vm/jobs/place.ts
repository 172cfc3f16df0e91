/** Where a job is: who may change it, and whether its maker may still, is judged there. */
import type { EventWhen } from "../../shared/jobs/event.ts";
import type { JobSettings } from "../../shared/jobs/job.ts";
import type { Homes } from "../threads/homes.ts";
import { threadOf } from "./names.ts";

/** @returns the channel of the thread into which it writes; undefined of a job that writes into none */
export function placeOfJob(
  { what }: Pick<JobSettings, "what">,
  homes: Pick<Homes, "channelOf" | "channelOfMain">,
): string | undefined {
  if (what.type !== "input") return undefined;
  if (what.main !== undefined) return homes.channelOfMain(what.main);
  return what.threadId === undefined ? undefined : homes.channelOf(threadOf(what.threadId));
}

/**
 * Finds the channel of the events that start a job. Its maker must be allowed to read there: the run is told of them.
 * @returns undefined of events of all threads, which are in all channels
 */
export function placeOfEvents(
  { threadId }: Pick<EventWhen, "threadId">,
  homes: Pick<Homes, "channelOf">,
): string | undefined {
  return threadId === undefined ? undefined : homes.channelOf(threadOf(threadId));
}
