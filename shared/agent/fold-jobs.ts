/** The part of the fold that knows which jobs the thread's agent has made with its tools. */
import * as z from "zod";
import type { ThreadEvent } from "./events.ts";
import type { JobsFold, ThreadFold } from "./fold-types.ts";

/** More are not kept: the oldest are left out. */
const MAX_MADE = 20;
const MAX_CALLS = 20;

/** The tools' names, as engines call them. */
const JOB_TOOL = /(?:^|_)job_(add|remove)$/;
const inputSchema = z.object({ name: z.string().max(40) });

const NONE: JobsFold = { made: [], calls: [] };

export function foldJobs(fold: ThreadFold, event: ThreadEvent): ThreadFold {
  const { jobs = NONE } = fold;
  if (event.type === "tool_call") {
    const [, op] = JOB_TOOL.exec(event.name) ?? [];
    const { data } = inputSchema.safeParse(event.rawInput);
    if (op === undefined || !data) return fold;
    const call = { callId: event.toolCallId, name: data.name, isMade: op === "add" };
    return { ...fold, jobs: { ...jobs, calls: [...jobs.calls, call].slice(-MAX_CALLS) } };
  }
  if (event.type !== "tool_call_update" || event.status === "in_progress") return fold;
  const call = jobs.calls.find(({ callId }) => callId === event.toolCallId);
  if (!call) return fold;
  const calls = jobs.calls.filter((one) => one !== call);
  if (event.status === "failed") return { ...fold, jobs: { ...jobs, calls } };
  const others = jobs.made.filter((name) => name !== call.name);
  return { ...fold, jobs: { calls, made: call.isMade ? [...others, call.name].slice(-MAX_MADE) : others } };
}
