/** Jobs over a real database, with a clock that a test drives and threads that are rows alone. */
import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { emptyFold } from "../../shared/agent/fold.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { type JobRequest, jobRequestSchema } from "../../shared/jobs/job.ts";
import { createLog } from "../../shared/log.ts";
import { OWNER, type Principal } from "../../shared/principal.ts";
import type { AgentThreads } from "../../vm/agents/agent-threads.ts";
import type { Agents } from "../../vm/agents/agents.ts";
import type { MainAgents } from "../../vm/agents/main-agents.ts";
import { Directives } from "../../vm/directives/directives.ts";
import { HookSecrets } from "../../vm/hooks/secrets.ts";
import { BoundedCommands } from "../../vm/jobs/bounded.ts";
import { Checks } from "../../vm/jobs/checks.ts";
import { JobEvents } from "../../vm/jobs/events.ts";
import { HookFeed } from "../../vm/jobs/feed.ts";
import { Hooks } from "../../vm/jobs/hooks.ts";
import { Jobs } from "../../vm/jobs/jobs.ts";
import { JobNews } from "../../vm/jobs/news.ts";
import { Runs } from "../../vm/jobs/runs.ts";
import { Scheduler } from "../../vm/jobs/scheduler.ts";
import { Targets } from "../../vm/jobs/targets.ts";
import { openStore, type Store } from "../../vm/store/store.ts";
import type { Creation } from "../../vm/threads/creation.ts";
import type { Inputs } from "../../vm/threads/inputs.ts";
import type { CreateRequest } from "../../vm/threads/kinds/kind.ts";
import type { Kinds } from "../../vm/threads/kinds/kinds.ts";
import { makeFolder } from "./folders.ts";

export const NOW = Date.parse("2027-01-05T08:30:00Z"); // a Tuesday
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

export interface JobsWorld {
  /** The clock. */
  nowMs: number;
  folder: string;
  /** Programs that were started in threads, by the thread's id: what a kill does not undo. */
  begun: string[];
  /** People who still may. */
  gone: Set<string>;
  /** People who may write nowhere. */
  mute: Set<string>;
  /** The sentences that threads were told about their jobs, each after the thread's id. */
  told: string[];
  store: Store;
  jobs: Jobs;
  hooks: Hooks;
  scheduler: Scheduler;
  news: JobNews;
  events: JobEvents;
  feed: HookFeed;
  /** The clock goes on by so much, and the scheduler looks. */
  pass: (ms: number) => Promise<void>;
  add: (request: Partial<JobRequest>, by?: Principal) => ReturnType<Jobs["create"]>;
  /** `status` and the like of a job's runs, the oldest first. */
  runs: (job?: string) => ReturnType<Jobs["listRuns"]>;
  /** A terminal that is there without a job. */
  open: (threadId: string) => Promise<unknown>;
  /** The terminal of a run ends. */
  end: (run: string, exitCode?: number) => Promise<void>;
  /** As after a kill of the sidecar: what it held in memory is gone. */
  reopen: (wrap?: (store: Store) => Store) => Promise<void>;
  close: () => Promise<void>;
}

const log = createLog("vm", "silent");

export function makeJobsWorld({ maxJobs = 300, hasDoor = false } = {}): JobsWorld {
  const { path: folder, remove } = makeFolder();
  mkdirSync(join(folder, "shop"));
  const reposDir = realpathSync(folder);
  const file = join(folder, "threadmux.db");
  const world = {
    nowMs: NOW,
    folder,
    begun: [] as string[],
    gone: new Set<string>(),
    mute: new Set<string>(),
    told: [] as string[],
  } as JobsWorld;
  let runs: Runs;
  const now = () => world.nowMs;
  const open = (wrap: (store: Store) => Store) => {
    const real = openStore(file);
    const store = wrap(real);
    const creation = {
      create: (request: CreateRequest) => create(store, world, request),
    } as unknown as Creation;
    const none = {} as unknown;
    const threadEnv = { PATH: process.env["PATH"] ?? "", SHELL: "/bin/sh" };
    const commands = new BoundedCommands({ store, stateDir: folder, threadEnv, sandbox: undefined, now });
    const checks = new Checks({ store, commands, engine: "claude", engineOf: () => "claude" });
    const directives = new Directives({
      ...{ reposDir, userSpace: { root: join(folder, "home") }, stateDir: folder, engine: "claude" },
      threadEnv: { HOME: join(folder, "person") },
    });
    const targets = new Targets({
      directives,
      ...{ store, creation, reposDir, now, commands, checks, userSpace: { root: join(folder, "home") } },
      // As the real ones: the same id a second time goes in no more.
      inputs: {
        send: async (_: string, { inputId }: { inputId: string }) => {
          if (!world.begun.includes(inputId)) world.begun.push(inputId);
        },
      } as unknown as Inputs,
      agents: none as Agents,
      mayType: (maker: Principal) => maker.kind !== "person" || !world.mute.has(maker.discordId),
      placeOf: () => undefined,
      mainAgents: none as MainAgents,
      mayDoMore: async () => false,
      kinds: { agent: { checkCreation: () => undefined } } as unknown as Kinds,
    });
    const news = new JobNews({ store, now, log });
    // Agents have an empty state, and have not read their input yet.
    const agentThreads = {
      catchUp: async () => undefined,
      get: () => ({ fold: emptyFold(), hasUnread: () => true }),
    } as unknown as AgentThreads;
    const mayStill = ({ createdBy: maker }: { createdBy: Principal }) =>
      maker.kind !== "person" || !world.gone.has(maker.discordId);
    runs = new Runs({ store, targets, news, agentThreads, mayStill, now, log });
    const scheduler = new Scheduler({ store, runs, news, mayStill, isBusy: () => false, now, log });
    const homes = {
      resolve: (name: string) => name as never,
      channelOf: () => undefined,
      channelOfMain: () => undefined,
    };
    const secrets = new HookSecrets(join(folder, "hooks"));
    const hooks = new Hooks({ store, secrets, isOpen: hasDoor, engine: "demo", hasReader: false, now });
    const feed = new HookFeed({ store, runs, news, reader: undefined, mayStill, now, log });
    // Threads of these tests have no transcript; their events are the sidecar's alone.
    const events = new JobEvents({
      ...{ store, transcript: () => join(folder, "nothing"), tagsOf: () => [], news, now, log },
      onFound: (name) => feed.wake(name),
    });
    const tell = async (threadId: string, sentence: string) =>
      void world.told.push(`${threadId}: ${sentence}`);
    const people = { judge: () => undefined };
    const jobs = new Jobs({
      ...{ store, homes, people, targets, runs, scheduler, hooks, events, mayStill, maxJobs, now, tell },
    });
    Object.assign(world, { store: real, jobs, hooks, scheduler, news, events, feed });
  };
  const shut = async () => {
    world.scheduler.close();
    world.events.close();
    await world.feed.close();
    await runs.close();
    world.store.close();
  };
  open((store) => store);
  return Object.assign(world, {
    pass: async (ms: number) => {
      world.nowMs += ms;
      world.scheduler.look();
      await runs.idle();
    },
    add: async (request: Partial<JobRequest>, by: Principal = OWNER) =>
      world.jobs.create(
        jobRequestSchema().parse({
          name: "nightly",
          when: { type: "every", seconds: 600 },
          what: { type: "terminal", dir: "shop", command: "make" },
          ...request,
        }),
        by,
      ),
    runs: (job = "nightly") => world.jobs.listRuns(job, 500).toReversed(),
    open: (threadId: string) =>
      create(world.store, world, {
        ...{ threadId, type: "terminal", dir: "shop", command: "cat", cols: 80, rows: 24 },
        createdBy: OWNER,
      } as unknown as CreateRequest),
    end: async (run: string, exitCode = 0) => {
      const ended = { status: "exited", exitCode, endedAt: world.nowMs } as const;
      world.store.threads.update(run as never, ended);
      await runs.idle();
    },
    reopen: async (wrap: (store: Store) => Store = (store) => store) => {
      await shut();
      open(wrap);
      removeHalfMade(world);
    },
    close: async () => {
      await shut();
      remove();
    },
  });
}

/** As the sidecar makes a terminal: its row, its program, and that it is made. */
async function create(
  store: Store,
  world: JobsWorld,
  request: CreateRequest,
): Promise<{ tmuxSession: string }> {
  const { threadId, type, dir, command, title = "", createdBy, cols, rows } = request;
  const place = { dir, path: join(world.folder, dir), command, title, cols, rows, marker: "A=b" };
  store.threads.insert({ threadId, type, createdBy, createdAt: world.nowMs, ...place });
  world.begun.push(threadId);
  store.threads.update(threadId, { status: "running", isMade: true });
  return { tmuxSession: threadId };
}

/** As the reconciler does before jobs are looked at. */
function removeHalfMade({ store, begun, nowMs }: JobsWorld): void {
  for (const { threadId, isMade } of store.threads.list("open")) {
    if (isMade) continue;
    if (begun.includes(threadId)) store.jobRuns.update(threadId, { begunAt: nowMs });
    store.threads.delete(threadId);
  }
}

/** A sidecar's clock that a test puts forward. What is due by then is looked at, as after a minute's sleep. */
export function makeClock(): {
  now: () => number;
  pass: (client: SidecarClient, ms: number) => Promise<void>;
} {
  let aheadMs = 0;
  return {
    now: () => Date.now() + aheadMs,
    pass: async (client, ms) => {
      aheadMs += ms;
      // Whoever makes a job has the scheduler look.
      const jobs = new VmJobs(client);
      const when = { type: "every", seconds: 86_400 } as const;
      await jobs.create({ name: "look", when, what: { type: "command", dir: ".", command: "true" } });
      await jobs.remove("look");
    },
  };
}
