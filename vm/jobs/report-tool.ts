/** `report`: what the agent of a run says of its work, to where the job says. */
import * as z from "zod";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Tool } from "../mcp/tool.ts";
import type { JobRunRow } from "../store/job-runs.ts";
import type { JobRow } from "../store/jobs.ts";
import type { Store } from "../store/store.ts";
import type { JobNews } from "./news.ts";

const MAX_CHARACTERS = 1_500;

const report = z.strictObject({
  ok: z.boolean().describe("Whether all is well: false is told to a person"),
  text: z
    .string()
    .max(MAX_CHARACTERS)
    .optional()
    .describe("For a person; left out, nobody is told that all is well"),
});

export interface ReportToolOptions {
  store: Store;
  news: Pick<JobNews, "tellReport">;
}

export function reportTool({ store, news }: ReportToolOptions): Tool {
  return {
    name: "report",
    right: "read",
    description:
      "You work in a run of a job: says, once, how it went. People get it where the job says; they do not read your text.",
    inputSchema: report,
    isFor: (threadId) => store.jobRuns.hasThread(threadId) || store.jobs.hasThread(threadId),
    run: async ({ threadId, input }) => {
      const { ok, text = "" } = report.parse(input);
      const { run, row } = findRun(store, threadId);
      const isFirst = store.transaction(() => {
        if (!store.jobRuns.setReport(run.run, { ok, text })) return false;
        news.tellReport(row, run, { ok, text });
        return true;
      });
      const before = store.jobRuns.find(run.run)?.report;
      if (!isFirst && (before?.ok !== ok || before.text !== text))
        throw new AppError("unsupported", "You have reported on this run already; the first report counts.");
      return ok && text === "" ? "Noted." : "Noted; a person is told.";
    },
  };
}

/** @throws AppError `not_found` if nothing that goes on there is a run's */
function findRun(store: Store, threadId: ThreadId): { run: JobRunRow; row: JobRow } {
  const [run] = store.jobRuns.listOfThread(threadId);
  if (!run || run.endedAt !== null) throw new AppError("not_found", "You are in no run of a job now.");
  return { run, row: store.jobs.get(run.jobId) };
}
