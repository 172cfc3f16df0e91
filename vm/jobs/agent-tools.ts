/** The tools by which an agent wakes itself, or a child, at a later time: jobs with narrow bounds. */
import * as z from "zod";
import { AppError } from "../../shared/errors.ts";
import { anyThreadNameSchema, type ThreadId } from "../../shared/ids.ts";
import { eventWhenSchema } from "../../shared/jobs/event.ts";
import { type Job, jobNameSchema, jobRequestSchema } from "../../shared/jobs/job.ts";
import { type CheckedWhen, isClock } from "../../shared/jobs/when.ts";
import { printPrincipal, threadPrincipal } from "../../shared/principal.ts";
import type { Marks } from "../agents/marks.ts";
import type { Children } from "../mcp/children.ts";
import type { Tool } from "../mcp/tool.ts";
import type { Store } from "../store/store.ts";
import type { Homes } from "../threads/homes.ts";
import type { Jobs } from "./jobs.ts";
import { nextDues, parseWhen } from "./schedule.ts";
import { machineZone } from "./zone.ts";

const MAX_JOBS = 20;
const MIN_GAP_MS = 15 * 60_000;
/** The number of due instants ahead that are compared: no two of them may lie closer. */
const LOOKED_AT = 30;
/** Events of a family that come within so long, or longer, are one input. */
const EVENTS_EVERY_SECONDS = 60;
const MAX_TEXT = 4_000;

const add = z.strictObject({
  name: jobNameSchema.describe("Yours to choose: a-z, 0-9 and -"),
  when: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('"in 2h", "at 17:00", "every 30m" (at least 15m), "every weekday at 9", or five cron fields'),
  on: z
    .strictObject({
      events: z.array(z.string()).describe("Their types, such as turn_end, failure, thread_status"),
      threadId: anyThreadNameSchema.describe("Your child, parent or sibling"),
      everySeconds: z
        .int("must be a whole number of seconds")
        .min(EVENTS_EVERY_SECONDS, `must be at least ${EVENTS_EVERY_SECONDS}`)
        .max(86_400, "must be at most 86400")
        .default(EVENTS_EVERY_SECONDS)
        .describe("Those that come within so long are one input"),
    })
    .optional()
    .describe("In place of when: each time that this happens there"),
  zone: z.string().max(64).optional().describe("Of the times, such as Europe/Berlin"),
  text: z
    .string()
    .max(MAX_TEXT)
    .refine((text) => text.trim() !== "", "must not be empty")
    .describe("What you, or the child, will be told then"),
  threadId: anyThreadNameSchema.optional().describe("A child of yours; left out, you yourself"),
});
const remove = z.strictObject({ name: jobNameSchema });

export interface AgentJobToolsOptions {
  store: Store;
  jobs: Pick<Jobs, "create" | "list" | "remove" | "preview" | "tellMakers">;
  marks: Pick<Marks, "findSpread" | "find">;
  children: Pick<Children, "checkChild" | "checkFamily" | "parentOf">;
  homes: Pick<Homes, "find">;
  now: () => number;
}

export function agentJobTools(options: AgentJobToolsOptions): Tool[] {
  const { jobs } = options;
  const listOwn = (threadId: ThreadId) => {
    const own = printPrincipal(threadPrincipal(threadId));
    return jobs.list().filter(({ createdBy }) => createdBy === own);
  };
  return [
    {
      name: "job_add",
      right: "jobs",
      description:
        "Wakes you, or a child of yours, with a text of yours: at a later time, once or again and again, or when something happens in another thread of your family. You need not wait meanwhile: end your turn.",
      inputSchema: add,
      run: async ({ threadId, input }) => {
        const request = add.parse(input);
        const to = targetOf(options, threadId, request.threadId);
        await refuseHere(options, threadId);
        const own = listOwn(threadId);
        const known = own.find(({ name }) => name === request.name);
        const isOver = known?.state === "over";
        if (known && !isOver && isSame(known, to, request.text))
          return `${describe(known)}. It was there already, and its time stays; remove it first to change that.`;
        if (own.filter(({ state }) => state !== "over").length >= MAX_JOBS)
          throw new AppError("max_jobs", `You have ${MAX_JOBS} jobs; remove one with job_remove first.`);
        const { name, text } = request;
        const when = whenOf(options, threadId, request);
        refuseOften(when, options.now());
        const what = { type: "input" as const, threadId: to, text };
        if (isOver) jobs.remove(name);
        const { words: next } = jobs.preview(when);
        const notice = `⏰ Made the job ${name}: ${next}. /job remove takes it away.`;
        const whole = jobRequestSchema().parse({ name, when, what });
        const made = await jobs.create(whole, threadPrincipal(threadId), notice);
        await jobs.tellMakers();
        return describe(made);
      },
    },
    {
      name: "job_list",
      right: "read",
      description: "The jobs that you have made, and when each is due next.",
      inputSchema: z.strictObject({}),
      run: async ({ threadId }) => listOwn(threadId).map(describe).join("\n") || "You have made no job.",
    },
    {
      name: "job_remove",
      right: "jobs",
      description: "Removes a job that you have made.",
      inputSchema: remove,
      run: async ({ threadId, input }) => {
        const { name } = remove.parse(input);
        if (!listOwn(threadId).some((job) => job.name === name))
          throw new AppError("not_found", `You have made no job ${JSON.stringify(name)}.`);
        jobs.remove(name);
        return `Removed ${name}.`;
      },
    },
  ];
}

/** @throws AppError `invalid_request` if it says no time and no event, or both; `not_found` of others' events */
function whenOf(
  { children, homes }: AgentJobToolsOptions,
  own: ThreadId,
  { when: words, zone, on }: z.output<typeof add>,
): CheckedWhen {
  if ((words === undefined) === (on === undefined))
    throw new AppError("invalid_request", "when, on: give one of them; when is the job to begin?");
  if (words !== undefined) {
    if (/^\s*on\b/i.test(words)) throw new AppError("invalid_request", "when: is a time; give events in on.");
    return { type: "words", words, ...(zone !== undefined && { zone }) };
  }
  const { events = [], threadId: wanted = "", everySeconds } = on ?? {};
  const threadId = homes.find(wanted);
  if (threadId === undefined)
    throw new AppError("not_found", `There is no thread ${JSON.stringify(wanted)} that you know.`);
  children.checkFamily(own, threadId);
  const { data, error } = eventWhenSchema().safeParse({
    ...{ type: "event", events, threadId, everySeconds },
  });
  if (!data) throw new AppError("invalid_request", `on: ${error.issues[0]?.message ?? "is not understood"}.`);
  return data;
}

/** @throws AppError `not_found` if it is neither the thread itself nor a child of it */
function targetOf({ children, homes }: AgentJobToolsOptions, own: ThreadId, wanted?: string): ThreadId {
  const to = wanted === undefined ? own : homes.find(wanted);
  if (to === own) return own;
  if (to === undefined) throw new AppError("not_found", `You have no child ${JSON.stringify(wanted)}.`);
  children.checkChild(own, to);
  return to;
}

/** @throws AppError `unsupported` in a run, in a child of one, and in a thread that text from outside has got into */
async function refuseHere(
  { store, marks, children }: AgentJobToolsOptions,
  threadId: ThreadId,
): Promise<void> {
  for (let id: ThreadId | undefined = threadId; id !== undefined; id = children.parentOf(id)) {
    const [run] = store.jobRuns.listOfThread(id);
    if (run && run.endedAt === null)
      throw new AppError("unsupported", "You work in a run of a job, and a run makes no jobs.");
  }
  await marks.findSpread(threadId);
  const mark = marks.find(threadId);
  if (mark)
    throw new AppError("unsupported", `You have read text from outside (${mark.why}), so you make no jobs.`);
}

/** @throws AppError `invalid_request` if it would be due again within 15 minutes */
function refuseOften(sent: CheckedWhen, nowMs: number): void {
  const when = parseWhen(sent, { nowMs, zone: machineZone() });
  if (!isClock(when)) return;
  const dues = nextDues({ when, madeAt: nowMs }, nowMs, LOOKED_AT);
  if (dues.some((due, at) => at > 0 && due - (dues[at - 1] ?? 0) < MIN_GAP_MS))
    throw new AppError("invalid_request", "when: a job of yours is due every 15 minutes at most.");
}

function isSame({ what }: Job, threadId: ThreadId, text: string): boolean {
  return what.type === "input" && what.threadId === threadId && what.text === text;
}

function describe({ name, state, next, why }: Job): string {
  const [first] = next;
  return `${name}: ${state}${first === undefined ? "" : `, next ${first}`}${why === null ? "" : `, ${why}`}`;
}
