/** Jobs: started last, once threads are in step with the world. */
import { join } from "node:path";
import { READER } from "../../shared/agent/engines/engines.ts";
import { isOpen } from "../../shared/api.ts";
import { findProgram } from "../../shared/find-program.ts";
import type { Principal } from "../../shared/principal.ts";
import { usualProgram } from "../agents/launch.ts";
import { People } from "../callers/people.ts";
import { Reader } from "../hooks/reader.ts";
import { HookSecrets } from "../hooks/secrets.ts";
import type { Metrics } from "../http/metrics.ts";
import { HookFeed } from "../jobs/feed.ts";
import { Hooks } from "../jobs/hooks.ts";
import { Jobs } from "../jobs/jobs.ts";
import { threadOf } from "../jobs/names.ts";
import { Runs } from "../jobs/runs.ts";
import { Scheduler } from "../jobs/scheduler.ts";
import { Targets } from "../jobs/targets.ts";
import type { JobRunRow } from "../store/job-runs.ts";
import type { Setting } from "./setting.ts";
import type { Common, Operations } from "./threads.ts";

export interface WiredJobs {
  jobs: Jobs;
  scheduler: Scheduler;
  hooks: Hooks;
  hookFeed: HookFeed;
}

export function createJobs(
  common: Common,
  operations: Operations,
  { releasers }: Pick<Setting, "releasers">,
  metrics: Pick<Metrics, "jobRuns" | "jobLateSeconds" | "jobUsd">,
): WiredJobs {
  const { store, config, agentKind, now } = common;
  const people = new People(store.people);
  const targets = new Targets({ ...common, ...operations, threadEnv: config.threadEnv });
  const onEnd = ({ status: outcome, costUsd }: JobRunRow) => {
    metrics.jobRuns.inc({ outcome });
    metrics.jobUsd.inc(costUsd ?? 0);
  };
  const onClaim = (lateMs: number, status: string) => {
    metrics.jobLateSeconds.observe(Math.max(0, lateMs) / 1_000);
    if (status !== "claimed") metrics.jobRuns.inc({ outcome: status });
  };
  const runs = new Runs({ ...common, targets, onEnd });
  const mayStill = (maker: Parameters<People["may"]>[0]) => people.may(maker);
  const isBusy = (name: string) => {
    const thread = store.threads.find(threadOf(name));
    const agent = thread && isOpen(thread.status) ? store.agents.find(thread.threadId) : undefined;
    return agent !== undefined && agentKind.describeAgent(agent).status !== "idle";
  };
  const { hooks, hookFeed } = createHooks(common, runs, mayStill);
  releasers.add("hooks", () => hookFeed.close());
  const scheduler = new Scheduler({ ...common, runs, mayStill, isBusy, onClaim });
  releasers.add("runs of jobs", () => runs.close());
  releasers.add("jobs", () => scheduler.close());
  const jobs = new Jobs({
    ...common,
    ...operations,
    targets,
    runs,
    scheduler,
    hooks,
    mayStill,
    maxJobs: config.maxJobs,
    now,
  });
  return { jobs, scheduler, hooks, hookFeed };
}

function createHooks(
  { store, config, log, now }: Common,
  runs: Runs,
  mayStill: (maker: Principal) => boolean,
): Pick<WiredJobs, "hooks" | "hookFeed"> {
  const { stateDir, threadEnv: env, agent } = config;
  const engine = agent.engine ?? usualProgram({ AGENT_PROGRAM: agent.program }).engine;
  const program = engine === READER.engine ? agent.program : READER.program;
  const isThere = findProgram(program, env["PATH"] ?? "") !== undefined;
  const folder = join(stateDir, "readers");
  const reader = isThere && config.hooks ? new Reader({ program, env, folder }) : undefined;
  const secrets = new HookSecrets(join(stateDir, "hooks"));
  const isOpen = config.hooks !== undefined;
  return {
    hooks: new Hooks({ store, secrets, isOpen, engine, hasReader: reader !== undefined }),
    hookFeed: new HookFeed({ store, runs, reader, mayStill, now, log }),
  };
}
