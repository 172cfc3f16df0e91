/** What a run starts: an agent, an input, a terminal, a command. Each start can be taken up where it was cut off. */
import { agentConfigSchema } from "../../shared/agent/config.ts";
import { usedOf } from "../../shared/agent/limits.ts";
import { createRequestSchema, isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { What } from "../../shared/jobs/job.ts";
import { kindOf } from "../../shared/kinds.ts";
import { job } from "../../shared/principal.ts";
import type { Agents } from "../agents/agents.ts";
import { killMarked } from "../processes/kill-marked.ts";
import type { JobRow, JobRunRow } from "../store/jobs.ts";
import type { Store } from "../store/store.ts";
import type { Creation } from "../threads/creation.ts";
import { resolveDirectory } from "../threads/directory.ts";
import type { Inputs } from "../threads/inputs.ts";
import type { CreateRequest } from "../threads/kinds/kind.ts";
import type { Kinds } from "../threads/kinds/kinds.ts";
import { runCommand, runMarker } from "./command.ts";
import { threadOf } from "./names.ts";

export interface TargetsOptions {
  store: Store;
  creation: Creation;
  inputs: Inputs;
  agents: Pick<Agents, "control" | "foldNow">;
  kinds: Kinds;
  stateDir: string;
  /** A real path. */
  reposDir: string;
  threadEnv: Record<string, string>;
  now: () => number;
}

/** A run that has its thread, or one that is over already. */
export type Begun =
  | { threadId: ThreadId; costBefore?: number; callsBefore?: number }
  | { status: "done" | "failed" | "unknown"; reason?: string; output?: string; threadId?: ThreadId };

interface Start {
  row: JobRow;
  run: JobRunRow;
  /** Of the job's cap for the day. */
  leftUsd: number;
  signal: AbortSignal;
}

type Kind<T extends What["type"]> = Extract<What, { type: T }>;

export class Targets {
  readonly #options: TargetsOptions;

  readonly #starts: { [T in What["type"]]: (what: Kind<T>, start: Start) => Promise<Begun> } = {
    agent: (what, start) => (what.thread === "one" ? this.#goOn(what, start) : this.#newAgent(what, start)),
    input: (what, start) => this.#input(what, start),
    terminal: (what, start) => this.#terminal(what, start),
    command: (what, start) => this.#command(what, start),
  };

  constructor(options: TargetsOptions) {
    this.#options = options;
  }

  /**
   * Whether such a job could begin now.
   * @throws AppError as the start of a run
   */
  async check({ settings }: Pick<JobRow, "settings">): Promise<void> {
    const { store, kinds, reposDir } = this.#options;
    const { what, name } = settings;
    if (what.type === "input") {
      const thread = store.threads.find(threadOf(what.threadId));
      if (!thread) throw new AppError("not_found", `what.threadId: there is no thread ${what.threadId}.`);
      if (!isOpen(thread.status))
        throw new AppError("thread_ended", `what.threadId: thread ${what.threadId} has ended.`);
      return;
    }
    await resolveDirectory(reposDir, what.dir);
    if ("prompt" in what) kinds.agent.checkCreation(this.#agentRequest(settings, what, name, ""));
  }

  /**
   * @param isAgain an earlier start may have been cut off anywhere
   * @param leftUsd of the job's cap for the day
   * @throws AppError if it can't begin
   */
  begin(row: JobRow, run: JobRunRow, leftUsd: number, signal: AbortSignal): Promise<Begun> {
    const { what } = row.settings;
    const start = this.#starts[what.type] as (what: What, start: Start) => Promise<Begun>;
    return start(what, { row, run, leftUsd, signal });
  }

  async #newAgent(what: Kind<"agent">, { row, run, leftUsd }: Start): Promise<Begun> {
    const threadId = threadOf(run.run);
    if (this.#isThere(threadId)) return { threadId };
    const request = this.#agentRequest(row.settings, what, run.run, bodyOf(run), leftUsd);
    await this.#options.creation.create(request);
    return { threadId };
  }

  /** In the one thread of all runs, which has an input each. */
  async #goOn(what: Kind<"agent">, start: Start): Promise<Begun> {
    const { row, run, leftUsd } = start;
    const { store, agents, inputs, now } = this.#options;
    const { threadId } = row;
    const thread = threadId === null ? undefined : store.threads.find(threadId);
    if (threadId === null || !thread || !isOpen(thread.status)) {
      const begun = await this.#newAgent(what, start);
      if ("threadId" in begun && begun.threadId) store.jobs.setThread(row.jobId, begun.threadId);
      return begun;
    }
    const fold = await agents.foldNow(threadId);
    const used = usedOf(fold, now());
    const { seconds, spendUsd } = row.settings.limits;
    const usd = least(spendUsd, leftUsd);
    const limits = {
      ...(seconds !== null && { seconds: Math.ceil(used.seconds + seconds) }),
      ...(usd !== undefined && { spendUsd: used.spendUsd + usd }),
    };
    const by = job(row.settings.name);
    if (Object.keys(limits).length > 0) await agents.control(threadId, { control: "limit", limits }, by);
    const callsBefore = store.steps.countCalls(threadId);
    const text = what.prompt + bodyOf(run);
    await inputs.send(threadId, { text, enter: true, paste: "auto", inputId: run.run, plain: true, by });
    return { threadId, costBefore: used.spendUsd, callsBefore };
  }

  async #input(what: Kind<"input">, { row, run }: Start): Promise<Begun> {
    const { store, agents, inputs, now } = this.#options;
    const threadId = threadOf(what.threadId);
    const thread = store.threads.find(threadId);
    if (!thread) throw new AppError("not_found", `There is no thread ${threadId} any more.`);
    const costBefore = kindOf(thread).hasTurns ? usedOf(await agents.foldNow(threadId), now()).spendUsd : 0;
    const text = what.text + bodyOf(run);
    const by = job(row.settings.name);
    await inputs.send(threadId, { text, enter: true, paste: "auto", inputId: run.run, plain: true, by });
    // A terminal says nothing of what came of it.
    return kindOf(thread).hasTurns ? { threadId, costBefore } : { status: "done", threadId };
  }

  async #terminal(what: Kind<"terminal">, { row, run }: Start): Promise<Begun> {
    const { store, creation, now } = this.#options;
    const threadId = threadOf(run.run);
    if (this.#isThere(threadId)) return { threadId };
    // A terminal that was made by half is removed, with a command that may have begun.
    if (run.begunAt !== null) return WAS_CUT_OFF;
    store.jobRuns.update(run.run, { begunAt: now() });
    const { dir, command, home } = what;
    const { name } = row.settings;
    const { agent: _, ...request } = createRequestSchema.parse({
      threadId,
      type: "terminal",
      dir,
      command,
      title: name,
      home,
    });
    await this.#unbegun(run, creation.create({ ...request, createdBy: job(name) }));
    return { threadId };
  }

  async #command(what: Kind<"command">, { row, run, signal }: Start): Promise<Begun> {
    const { store, stateDir, reposDir, threadEnv: env, now } = this.#options;
    const marker = runMarker(stateDir, run.run);
    if (run.begunAt !== null) {
      await killMarked(marker);
      return WAS_CUT_OFF;
    }
    const { path } = await resolveDirectory(reposDir, what.dir);
    store.jobRuns.update(run.run, { begunAt: now() });
    const seconds = row.settings.limits.seconds ?? undefined;
    const { exitCode, isOutOfTime, output } = await runCommand(what.command, {
      path,
      env,
      marker,
      seconds,
      signal,
    });
    if (exitCode === 0) return { status: "done", output };
    const reason = isOutOfTime
      ? `limit: it took more than ${seconds} s`
      : `exit code ${exitCode ?? "unknown"}`;
    return { status: "failed", reason, output };
  }

  /** Ends the turn of a run that has used up what no other limit bounds. */
  async stop(threadId: ThreadId, name: string): Promise<void> {
    await this.#options.agents.control(threadId, { control: "interrupt" }, job(name));
  }

  /** @throws what the start failed of; its process has not begun then, and it may be tried again */
  async #unbegun(run: JobRunRow, start: Promise<unknown>): Promise<void> {
    try {
      await start;
    } catch (error) {
      this.#options.store.jobRuns.update(run.run, { begunAt: null });
      throw error;
    }
  }

  /** @throws AppError `unavailable` while it is made by half */
  #isThere(threadId: ThreadId): boolean {
    const thread = this.#options.store.threads.find(threadId);
    if (thread && !thread.isMade) throw new AppError("unavailable", `Thread ${threadId} is not made yet.`);
    return thread !== undefined;
  }

  #agentRequest(
    { name, limits }: JobRow["settings"],
    { dir, prompt, agent, home }: Kind<"agent">,
    threadId: string,
    body: string,
    leftUsd = Number.POSITIVE_INFINITY,
  ): CreateRequest {
    const usd = least(limits.spendUsd, leftUsd);
    const own = {
      ...(limits.seconds !== null && { seconds: limits.seconds }),
      ...(usd !== undefined && { spendUsd: usd }),
    };
    const { engine: _, ...config } = agentConfigSchema.parse({ ...agent, limits: own });
    return {
      ...createRequestSchema.parse({
        threadId,
        type: "agent",
        dir,
        command: prompt + body,
        title: name,
        home,
      }),
      agent: { ...config, engine: agent?.engine },
      inputId: threadId,
      plain: true,
      createdBy: job(name),
    };
  }
}

const WAS_CUT_OFF = {
  status: "unknown" as const,
  reason: "The sidecar ended while its command ran; it is not run again by itself.",
};

/** What a request brought stands behind the job's own words. */
function bodyOf({ body }: JobRunRow): string {
  return body === null ? "" : `\n\n${body}`;
}

/** Undefined if neither is a limit. */
function least(usd: number | null, leftUsd: number): number | undefined {
  const least = Math.min(usd ?? Number.POSITIVE_INFINITY, leftUsd);
  return Number.isFinite(least) ? Math.max(least, 0.0001) : undefined;
}
