/** The thread into which a job writes. */
import type { ThreadId } from "../../shared/ids.ts";
import type { What } from "../../shared/jobs/job.ts";
import type { Store } from "../store/store.ts";
import { threadOf } from "./names.ts";

/** @returns undefined of a job that writes into none, and of an agent that hears channels and is not made yet */
export function targetThread({ spoken }: Pick<Store, "spoken">, what: What): ThreadId | undefined {
  if (what.type !== "input") return undefined;
  if (what.main !== undefined) return spoken.findMain(what.main);
  return what.threadId === undefined ? undefined : threadOf(what.threadId);
}

type InputWhat = Extract<What, { type: "input" }>;

/** The field that says where an input goes in. */
export function fieldOf({ main }: InputWhat): string {
  return main === undefined ? "what.threadId" : "what.main";
}

/** `thread 12`, or `agent main`. */
export function nameOf({ main, threadId }: InputWhat): string {
  return main === undefined ? `thread ${threadId}` : `agent ${main}`;
}
