/**
 * Runs, from their claim to their end. Each step is in its row before the next one: a sidecar that was killed in between
 * takes the run up where it was.
 */

import { chargeOf } from "../../shared/agent/fold-charges.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { dayStart } from "../../shared/clock-text.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import { Slots } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { Principal } from "../../shared/principal.ts";
import type { AgentThread } from "../agents/agent-thread.ts";
import type { AgentThreads } from "../agents/agent-threads.ts";
import type { JobRunRow } from "../store/job-runs.ts";
import type { JobRow } from "../store/jobs.ts";
import type { Store } from "../store/store.ts";
import { whySilent } from "./heartbeat.ts";
import { whyGone } from "./maker.ts";
import type { JobNews } from "./news.ts";
import { type Outcome, outcomeOfAgent, outcomeOfTerminal } from "./outcome.ts";
import type { Begun, Targets } from "./targets.ts";

/** Starts at once: after a start of the sidecar they come one by one. */
const MAX_STARTS = 2;
const MAX_COMMANDS = 2;
/** How long a run that can't begin for now is tried again, at each look. */
const PATIENCE_MS = 10 * 60_000;
/** How long after a full disk the outcome of a run is stored again, in milliseconds. */
const STORE_AGAIN_MS = 5_000;
/** It may be otherwise a moment later. */
const TRANSIENT = ["unavailable", "max_threads", "too_many_agents", "rate_limited"];
/** After so many failures of one reason the job is paused. */
const MAX_FAILURES = 3;

export interface RunsOptions {
  store: Store;
  targets: Targets;
  news: Pick<JobNews, "pause" | "tellEnd" | "tellSilence">;
  agentThreads: AgentThreads;
  /** Whether a job's maker still may. */
  mayStill: (job: JobRow) => boolean;
  now: () => number;
  log: Log;
  /** Told of each run that is over. */
  onEnd?: ((run: JobRunRow) => void) | undefined;
}

export class Runs {
  readonly #options: RunsOptions;
  readonly #starts = new Slots(MAX_STARTS);
  readonly #commands = new Slots(MAX_COMMANDS);
  /** Runs that are worked at this moment. */
  readonly #atWork = new Map<string, Promise<void>>();
  readonly #charging = new Set<Promise<void>>();
  /** Threads of runs that go on. */
  readonly #threads = new Set<ThreadId>();
  /** The outcomes of runs that could not be stored, because the disk was full; by run. */
  readonly #unstored = new Map<string, Begun>();
  readonly #closing = new AbortController();
  #isLookPlanned = false;

  constructor(options: RunsOptions) {
    this.#options = options;
    options.store.events.listen((type, threadId) => {
      if (this.#threads.has(threadId)) this.#planLook();
      if (type === "thread_ended" && options.store.jobRuns.hasThread(threadId)) this.#planCharge(threadId);
    });
  }

  /** Goes on with each run that is not over. */
  look(): void {
    if (this.#closing.signal.aborted) return;
    const open = this.#options.store.jobRuns.listOpen();
    this.#threads.clear();
    for (const { threadId } of open) if (threadId !== null) this.#threads.add(threadId);
    const names = new Set(open.map(({ run }) => run));
    for (const name of this.#unstored.keys()) if (!names.has(name)) this.#unstored.delete(name);
    for (const name of names) this.#goOn(name);
  }

  /**
   * What is asked of a job beside its clock: by hand, by a request, or by an event.
   * @returns false if a run of this name is there
   */
  begin(
    row: JobRow,
    run: string,
    by: Principal,
    { body = null, causes = [] }: { body?: string | null; causes?: readonly string[] } = {},
  ): boolean {
    const { store, now } = this.#options;
    const isNew = store.jobRuns.insert({
      run,
      jobId: row.jobId,
      due: null,
      status: "claimed",
      by,
      claimedAt: now(),
      body,
      causes: [...causes],
    });
    if (isNew) this.#planLook();
    return isNew;
  }

  /** Resolves once nothing can be done for any run before something happens. */
  async idle(): Promise<void> {
    do {
      await new Promise((resolve) => setImmediate(resolve));
      await Promise.all(this.#atWork.values());
    } while (this.#isLookPlanned || this.#atWork.size > 0);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#atWork.values(), ...this.#charging]);
  }

  #planLook(): void {
    if (this.#isLookPlanned) return;
    this.#isLookPlanned = true;
    setImmediate(() => {
      this.#isLookPlanned = false;
      if (this.#closing.signal.aborted) return;
      try {
        this.look();
      } catch (error) {
        // The disk is full, or another process holds the database: the scheduler's next look makes up for it.
        this.#options.log.error({ err: error }, "could not look at the runs of jobs; trying again");
      }
    });
  }

  /** A child has ended: what it has cost is charged to the run that it worked for, which may be over. */
  #planCharge(threadId: ThreadId): void {
    const charge = async () => {
      const agent = await this.#agentOf(threadId);
      for (const run of agent ? this.#options.store.jobRuns.listOfThread(threadId) : [])
        if (agent && run.endedAt !== null && run.costUsd !== null) this.#charge(run, agent.fold);
    };
    const work = new Promise((resolve) => setImmediate(resolve))
      .then(() => (this.#closing.signal.aborted ? undefined : charge()))
      .catch((error: unknown) => {
        this.#options.log.error(
          { threadId, err: error },
          "could not charge a run with what a child has cost",
        );
      })
      .finally(() => this.#charging.delete(work));
    this.#charging.add(work);
  }

  #goOn(name: string): void {
    if (this.#atWork.has(name)) return;
    const work = this.#work(name)
      .catch((error: unknown) => {
        this.#options.log.error({ run: name, err: error }, "a run of a job could not go on");
        if (this.#unstored.has(name)) setTimeout(() => this.#planLook(), STORE_AGAIN_MS).unref();
      })
      .finally(() => this.#atWork.delete(name));
    this.#atWork.set(name, work);
  }

  async #work(name: string): Promise<void> {
    const { store } = this.#options;
    const run = store.jobRuns.find(name);
    if (run?.status === "claimed") {
      const { what, check } = store.jobs.get(run.jobId).settings;
      await (what.type === "command" || check !== undefined ? this.#commands : this.#starts).run(
        () => this.#start(name),
        this.#closing.signal,
      );
    }
    const started = store.jobRuns.find(name);
    if (started?.status === "started") await this.#settle(started);
  }

  async #start(name: string): Promise<void> {
    const { store, targets, log, now } = this.#options;
    const run = store.jobRuns.find(name);
    if (run?.status !== "claimed") return;
    const row = store.jobs.get(run.jobId);
    let begun = this.#unstored.get(name);
    // It may have waited here for a long while.
    if (!begun && !this.#options.mayStill(row)) return this.#endOfGone(row, run);
    try {
      begun ??= await targets.begin(row, run, leftUsd(store, row, now()), this.#closing.signal);
    } catch (error) {
      if (this.#closing.signal.aborted) return; // the next sidecar goes on with it
      const isTransient = error instanceof AppError && TRANSIENT.includes(error.code);
      if (isTransient && now() - run.claimedAt < PATIENCE_MS) return;
      if (!(error instanceof AppError))
        log.error({ run: name, err: error }, "a run of a job could not begin");
      const reason =
        error instanceof AppError
          ? `${error.code}: ${errorText(error)}`
          : "internal: the sidecar's log says why";
      begun = { status: "failed", reason };
    }
    this.#unstored.set(name, begun);
    this.#store(run, begun);
    this.#unstored.delete(name);
  }

  #store(run: JobRunRow, begun: Begun): void {
    if ("status" in begun) {
      const { store, news } = this.#options;
      const row = store.jobs.get(run.jobId);
      if (begun.pauses !== undefined && row.state === "active") news.pause(row, begun.pauses);
      this.#end(run, begun);
      return;
    }
    const { threadId } = begun;
    this.#threads.add(threadId);
    // A reader's price counts for the run.
    const started = { status: "started", threadId, costBefore: -(run.costUsd ?? 0) } as const;
    this.#options.store.jobRuns.update(run.run, started);
  }

  #endOfGone(row: JobRow, run: JobRunRow): void {
    const { news } = this.#options;
    const why = whyGone(row.createdBy);
    if (row.state === "active") news.pause(row, why);
    this.#end(run, { status: "skipped", reason: `rights: ${why}` });
  }

  /** Looks whether the turn has ended that had the run's input, or the terminal's command. */
  async #settle(run: JobRunRow): Promise<void> {
    const { store } = this.#options;
    const { threadId } = run;
    const thread = threadId === null ? undefined : store.threads.find(threadId);
    if (threadId === null || !thread)
      return this.#end(run, { status: "failed", reason: "its thread is gone" });
    if (!kindOf(thread).hasTurns) {
      const outcome = outcomeOfTerminal(thread);
      return outcome && this.#end(run, outcome);
    }
    if (thread.status === "killed")
      return this.#end(run, { status: "failed", reason: "its thread was ended" });
    const agent = await this.#agentOf(threadId);
    if (!agent) return this.#end(run, { status: "failed", reason: "its thread's folder is gone" });
    const { calls } = this.#charge(run, agent.fold);
    if (await this.#isOverCalls(run, threadId, calls)) return;
    if (agent.hasUnread(run.run)) return;
    const row = store.jobs.get(run.jobId);
    if (row.settings.heartbeat) this.#noteSilence(row, run, agent.fold.turn?.startedAt);
    const outcome = outcomeOfAgent(agent.fold, run.run, store.steps.findLastTurn(threadId));
    if (outcome) this.#end(run, outcome);
  }

  #charge(run: JobRunRow, fold: ThreadFold): { calls: number } {
    const { usd, calls } = chargeOf(fold, run.run);
    const costUsd = Math.max(usd - run.costBefore, run.costUsd ?? 0);
    if (costUsd !== run.costUsd) this.#options.store.jobRuns.update(run.run, { costUsd });
    return { calls };
  }

  /** @param turnSince the turn may have begun before the run's input went into it */
  #noteSilence(row: JobRow, run: JobRunRow, turnSince: string | undefined): void {
    const { news, now } = this.#options;
    if (run.report) return;
    const since = turnSince === undefined ? undefined : Math.max(Date.parse(turnSince), run.claimedAt);
    const why = whySilent(run, now(), since);
    if (why !== undefined) news.tellSilence(row, run, why);
  }

  /** The engines know no such limit: a turn that goes over it is ended. An input into a thread is not bounded by it. */
  async #isOverCalls(run: JobRunRow, threadId: ThreadId, made: number): Promise<boolean> {
    const { store, targets } = this.#options;
    const { what, limits, name } = store.jobs.get(run.jobId).settings;
    if (limits.calls === null || !("prompt" in what) || made <= limits.calls) return false;
    await targets.stop(threadId, name);
    this.#end(run, { status: "failed", reason: "limit: calls" });
    return true;
  }

  async #agentOf(threadId: ThreadId): Promise<AgentThread | undefined> {
    const { agentThreads } = this.#options;
    try {
      await agentThreads.catchUp(threadId);
      return agentThreads.get(threadId);
    } catch (error) {
      if (error instanceof AppError) return undefined;
      throw error;
    }
  }

  #end(run: JobRunRow, { status, reason, output, threadId }: Outcome): void {
    const { store, news, now, log, onEnd } = this.#options;
    store.transaction(() => {
      store.jobRuns.update(run.run, {
        status,
        reason: reason ?? null,
        endedAt: now(),
        body: null,
        ...(output !== undefined && { output }),
        ...(threadId !== undefined && { threadId }),
      });
      const ended = store.jobRuns.find(run.run);
      if (!ended) return; // its job was removed meanwhile
      const row = store.jobs.get(run.jobId);
      news.tellEnd(row, ended);
      // How a run without a thread failed has just been told.
      const isTold = ended.threadId === null && status === "failed";
      if (row.settings.heartbeat && !isTold) this.#noteSilence(row, ended, undefined);
      if (status === "failed") this.#pauseAfterFailures(run.jobId);
    });
    log.info({ run: run.run, status, reason }, "a run of a job is over");
    const ended = store.jobRuns.find(run.run);
    if (ended) onEnd?.(ended);
  }

  #pauseAfterFailures(jobId: number): void {
    const { store, news } = this.#options;
    const row = store.jobs.get(jobId);
    const last = store.jobRuns.listEnded(jobId, MAX_FAILURES);
    const [{ reason } = { reason: null }] = last;
    const isAlike = last.every((run) => run.status === "failed" && run.reason === reason);
    if (row.state !== "active" || last.length < MAX_FAILURES || !isAlike) return;
    const why = `Its last ${MAX_FAILURES} runs failed for one reason: ${reason ?? "unknown"}. Resume it once that is mended.`;
    news.pause(row, why);
  }
}

/** What is left of the job's cap for the day. */
function leftUsd(store: Store, { jobId, settings }: JobRow, nowMs: number): number {
  const cap = settings.limits.spendUsdPerDay;
  if (cap === null) return Number.POSITIVE_INFINITY;
  return Math.max(0, cap - store.jobRuns.spentSince(jobId, dayStart(nowMs)));
}
