/** Where a job is: who may change it, and whether its maker may still, is judged there. */
import type { JobSettings } from "../../shared/jobs/job.ts";
import type { Homes } from "../threads/homes.ts";
import { threadOf } from "./names.ts";

/** @returns the channel of the thread into which it writes; undefined of a job that writes into none */
export function placeOfJob(
  { what }: Pick<JobSettings, "what">,
  homes: Pick<Homes, "channelOf">,
): string | undefined {
  return what.type === "input" ? homes.channelOf(threadOf(what.threadId)) : undefined;
}
