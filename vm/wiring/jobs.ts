/** Jobs: started last, once threads are in step with the world. */
import { join } from "node:path";
import { type EngineName, READER } from "../../shared/agent/engines/engines.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { findProgram } from "../../shared/find-program.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { What } from "../../shared/jobs/job.ts";
import type { Principal } from "../../shared/principal.ts";
import type { Sandbox } from "../../shared/sandbox/modes.ts";
import { usualProgram } from "../agents/launch.ts";
import { type People, peopleOf } from "../callers/people.ts";
import { Reader } from "../hooks/reader.ts";
import { HookSecrets } from "../hooks/secrets.ts";
import type { Metrics } from "../http/metrics.ts";
import { BoundedCommands } from "../jobs/bounded.ts";
import { Checks } from "../jobs/checks.ts";
import { JobEvents } from "../jobs/events.ts";
import { HookFeed } from "../jobs/feed.ts";
import { HookTests } from "../jobs/hook-test.ts";
import { Hooks } from "../jobs/hooks.ts";
import { Jobs } from "../jobs/jobs.ts";
import { LeftBehind } from "../jobs/left-behind.ts";
import { threadOf } from "../jobs/names.ts";
import { JobNews } from "../jobs/news.ts";
import { placeOfEvents, placeOfJob } from "../jobs/place.ts";
import { Runs } from "../jobs/runs.ts";
import { Scheduler } from "../jobs/scheduler.ts";
import { Targets } from "../jobs/targets.ts";
import { Unattended } from "../jobs/unattended.ts";
import type { JobRunRow } from "../store/job-runs.ts";
import type { JobRow } from "../store/jobs.ts";
import type { Homes } from "../threads/homes.ts";
import type { Setting } from "./setting.ts";
import type { Common, Operations } from "./threads.ts";

export interface WiredJobs {
  jobs: Jobs;
  jobNews: JobNews;
  hookTests: HookTests;
  hooks: Hooks;
  /** Something has come for the job of this name. */
  arrive: (name: string) => void;
  /** Call it once all else is there: what is due begins. */
  start: () => void;
}

export function createJobs(
  common: Common,
  operations: Operations,
  { releasers, sandbox }: Pick<Setting, "releasers"> & { sandbox: Sandbox | undefined },
  metrics: Pick<Metrics, "jobRuns" | "jobLateSeconds" | "jobUsd">,
): WiredJobs {
  const { store, config, log, now } = common;
  const people = peopleOf(store);
  const isThere = (name: string) => isOpen(store.threads.find(threadOf(name))?.status ?? "killed");
  const commands = new BoundedCommands({ ...common, threadEnv: config.threadEnv, sandbox });
  const engineOf = (threadId: ThreadId) => common.folders.engineOf(threadId);
  const checks = new Checks({ store, commands, engine: engineOfJobs(config), engineOf });
  const { children, homes } = operations;
  const mayType = (maker: Principal, channelId: string | undefined) => people.may(maker, "type", channelId);
  const placeOf = (what: What) => placeOfJob({ what }, homes);
  const mayDoMore = (threadId: ThreadId, otherId: ThreadId) => children.mayDoMore(threadId, otherId);
  const asked = { mayType, placeOf, mayDoMore };
  const targets = new Targets({ ...common, ...operations, ...asked, commands, checks });
  const onEnd = ({ status: outcome, costUsd }: JobRunRow) => {
    metrics.jobRuns.inc({ outcome });
    metrics.jobUsd.inc(costUsd ?? 0);
  };
  const onClaim = (lateMs: number, status: string) => {
    metrics.jobLateSeconds.observe(Math.max(0, lateMs) / 1_000);
    if (status !== "claimed") metrics.jobRuns.inc({ outcome: status });
  };
  const jobNews = new JobNews(common);
  const mayStill = (row: JobRow) =>
    hasRights(row, people, homes) && (row.createdBy.kind !== "thread" || isThere(row.createdBy.threadId));
  const runs = new Runs({ ...common, targets, news: jobNews, mayStill, onEnd });
  const isBusy = busyIn(common);
  const { hooks, hookFeed } = createHooks(common, { runs, news: jobNews, mayStill });
  const arrive = (name: string) => hookFeed.arrive(name);
  const events = createEvents(common, jobNews, arrive);
  releasers.add("events for jobs", () => events.close());
  releasers.add("hooks", () => hookFeed.close());
  const scheduler = new Scheduler({ ...common, runs, news: jobNews, mayStill, isBusy, onClaim });
  releasers.add("runs of jobs", () => runs.close());
  releasers.add("jobs", () => scheduler.close());
  const jobs = new Jobs({
    ...common,
    ...operations,
    people,
    targets,
    runs,
    scheduler,
    hooks,
    events,
    mayStill,
    maxJobs: config.maxJobs,
    tell: async (threadId, sentence) => {
      await operations.agents.noteNotice(threadId, sentence).catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error; // it is over
      });
    },
    now,
  });
  const hookTests = new HookTests({ findHook: (name) => hooks.find(name), now });
  const leftBehind = new LeftBehind({ ...common, kill: operations.kill, hasPerson: hasPersonIn(common) });
  releasers.add("threads of old runs", () => leftBehind.close());
  const unattended = new Unattended({ ...common, news: jobNews, lastPersonAt: lastPersonIn(common) });
  releasers.add("jobs without a person", () => unattended.close());
  const start = () => {
    hookFeed.start();
    events.start();
    leftBehind.start();
    unattended.start();
    scheduler.look();
    jobs.tellMakers().catch((error: unknown) => {
      log.warn({ err: error }, "could not tell of a job in the thread that made it");
    });
  };
  return { jobs, jobNews, hookTests, hooks, arrive, start };
}

/** Whether a job's maker still may what it does: the table of roles may have changed since. */
function hasRights({ createdBy, settings }: JobRow, people: People, homes: Homes): boolean {
  const { when } = settings;
  if (when.type === "event" && !people.may(createdBy, "read", placeOfEvents(when, homes))) return false;
  return people.may(createdBy, "jobs", placeOfJob(settings, homes));
}

/** Whether a thread's agent has something to do. */
function busyIn({ store, agentKind }: Common): (name: string) => boolean {
  return (name) => {
    const thread = store.threads.find(threadOf(name));
    const agent = thread && isOpen(thread.status) ? store.agents.find(thread.threadId) : undefined;
    return agent !== undefined && agentKind.describeAgent(agent).status !== "idle";
  };
}

/** A terminal of a run gets nothing but what somebody types. */
function hasPersonIn({ store, agentThreads }: Common): (threadId: ThreadId) => boolean {
  return (threadId) =>
    store.agents.find(threadId)
      ? agentThreads.look(threadId, ({ lastPersonAt }) => lastPersonAt !== undefined)
      : store.inputs.hasAny(threadId);
}

function lastPersonIn({ store, agentThreads }: Common): (threadId: ThreadId) => number | undefined {
  return (threadId) =>
    store.agents.find(threadId) ? agentThreads.look(threadId, ({ lastPersonAt }) => lastPersonAt) : undefined;
}

function createEvents(
  { store, folders, log, now }: Common,
  news: JobNews,
  onFound: (name: string) => void,
): JobEvents {
  return new JobEvents({
    store,
    transcript: (threadId) => threadPath(folders.of(threadId), "transcript"),
    tagsOf: (threadId) => folders.tagsOf(threadId),
    ...{ news, onFound, now, log },
  });
}

/** The engine of agents whose job names none. */
function engineOfJobs({ agent }: Common["config"]): EngineName {
  return agent.engine ?? usualProgram({ AGENT_PROGRAM: agent.program }).engine;
}

function createHooks(
  { store, config, log, now }: Common,
  feeding: { runs: Runs; news: JobNews; mayStill: (job: JobRow) => boolean },
): { hooks: Hooks; hookFeed: HookFeed } {
  const { stateDir, threadEnv: env, agent } = config;
  const engine = engineOfJobs(config);
  const program = engine === READER.engine ? agent.program : READER.program;
  const isThere = findProgram(program, env["PATH"] ?? "") !== undefined;
  const folder = join(stateDir, "readers");
  const reader = isThere && config.hooks ? new Reader({ program, env, folder }) : undefined;
  const secrets = new HookSecrets(join(stateDir, "hooks"));
  const isOpen = config.hooks !== undefined;
  return {
    hooks: new Hooks({ store, secrets, isOpen, engine, hasReader: reader !== undefined, now }),
    hookFeed: new HookFeed({ store, ...feeding, reader, now, log }),
  };
}
