/** What a run starts: an agent, an input, a terminal, a command. Each start can be taken up where it was cut off. */
import { joinCauses } from "../../shared/agent/fold-causes.ts";
import { usedOf } from "../../shared/agent/limits.ts";
import { createRequestSchema, isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { JobSettings, KeptDirective, What } from "../../shared/jobs/job.ts";
import { isClock } from "../../shared/jobs/when.ts";
import { kindOf } from "../../shared/kinds.ts";
import { describePrincipal, job, type Principal } from "../../shared/principal.ts";
import type { Agents } from "../agents/agents.ts";
import { channelsOfAgent } from "../agents/heard-channels.ts";
import type { MainAgents } from "../agents/main-agents.ts";
import type { Directives } from "../directives/directives.ts";
import { type Brought, parseBrought } from "../hooks/brought.ts";
import type { JobRunRow } from "../store/job-runs.ts";
import type { JobRow } from "../store/jobs.ts";
import type { Store } from "../store/store.ts";
import type { Creation } from "../threads/creation.ts";
import { resolveDirectory } from "../threads/directory.ts";
import type { Inputs } from "../threads/inputs.ts";
import type { CreateRequest, Input } from "../threads/kinds/kind.ts";
import type { Kinds } from "../threads/kinds/kinds.ts";
import type { UserSpace } from "../threads/user-space.ts";
import { type BoundedCommands, WAS_CUT_OFF } from "./bounded.ts";
import type { Checks } from "./checks.ts";
import { hasHeartbeat } from "./heartbeat.ts";
import {
  type AgentWhat,
  JobAgents,
  keptDirective,
  limitsFrom,
  outsideOf,
  whyChanged,
  whyLost,
  withText,
} from "./job-agents.ts";
import { threadOf } from "./names.ts";
import type { Outcome } from "./outcome.ts";
import { fieldOf, nameOf, targetThread } from "./target-thread.ts";

export interface TargetsOptions {
  store: Store;
  creation: Creation;
  inputs: Inputs;
  agents: Pick<Agents, "control" | "foldNow">;
  kinds: Kinds;
  /** Whether somebody may write in a channel. */
  mayType: (maker: Principal, channelId: string | undefined) => boolean;
  /** The channel of what a job writes into. */
  placeOf: (what: What) => string | undefined;
  mainAgents: Pick<MainAgents, "called">;
  /** Whether an agent may do more than another one. */
  mayDoMore: (threadId: ThreadId, otherId: ThreadId) => Promise<boolean>;
  commands: BoundedCommands;
  checks: Checks;
  directives: Pick<Directives, "applied">;
  /** A real path. */
  reposDir: string;
  userSpace: Pick<UserSpace, "root">;
  now: () => number;
}

/** A run that has its thread, or one that is over already. */
export type Begun = { threadId: ThreadId } | Outcome;

interface Start {
  row: JobRow;
  run: JobRunRow;
  /** How much of the job's cap for the day is left. */
  leftUsd: number;
  signal: AbortSignal;
}

/** That a directive is refused with when a thread is made. */
const REFUSALS: readonly string[] = ["invalid_request", "not_found", "unsupported"];

type TextInput = Exclude<Input, { key: string }>;
type Kind<T extends What["type"]> = Extract<What, { type: T }>;

export class Targets {
  readonly #options: TargetsOptions;
  readonly #jobAgents: JobAgents;

  readonly #starts: { [T in What["type"]]: (what: Kind<T>, start: Start) => Promise<Begun> } = {
    agent: (what, start) => this.#agent(what, start),
    input: (what, start) => this.#input(what, start),
    terminal: (what, start) => this.#terminal(what, start),
    command: (what, start) => this.#command(what, start),
  };

  constructor(options: TargetsOptions) {
    this.#options = options;
    this.#jobAgents = new JobAgents(options.directives);
  }

  /**
   * Whether such a job could begin now.
   * @returns the directive of its agents, if it names one
   * @throws AppError as the start of a run
   */
  async check({
    settings,
    createdBy,
  }: Pick<JobRow, "settings" | "createdBy">): Promise<KeptDirective | undefined> {
    const { reposDir, userSpace } = this.#options;
    const { what, check } = settings;
    refuseHeartbeat(settings);
    if (settings.hours && !isClock(settings.when))
      throw new AppError(
        "invalid_request",
        "hours: are for a job of the clock; a request comes when it comes.",
      );
    if (check !== undefined)
      await this.#options.checks.refuse(settings, check, await this.#pathOf({ settings }));
    if (what.type === "input") {
      this.#refuseTarget(what);
      this.#judge(createdBy, what);
      return undefined;
    }
    // A command, and the memory with the heartbeat's list, need a directory before there is a thread.
    const needsOne = what.type === "command" || settings.heartbeat;
    await resolveDirectory(reposDir, what.dir, undefined, needsOne ? undefined : userSpace.root);
    return "prompt" in what ? this.findDirective(settings, what) : undefined;
  }

  /**
   * The directive that a job names, as it is now.
   * @throws AppError as the start of a run
   */
  async findDirective(settings: JobSettings, what: AgentWhat): Promise<KeptDirective | undefined> {
    const { kinds } = this.#options;
    const leftUsd = Number.POSITIVE_INFINITY;
    const request = await this.#jobAgents.requestOf(settings, what, { threadId: settings.name, leftUsd });
    await kinds.agent.checkCreation(request);
    return keptDirective(request);
  }

  /**
   * @param isAgain an earlier start may have been cut off anywhere
   * @param leftUsd of the job's cap for the day
   * @throws AppError if it can't begin
   */
  async begin(row: JobRow, run: JobRunRow, leftUsd: number, signal: AbortSignal): Promise<Begun> {
    const { what, check } = row.settings;
    const start = this.#starts[what.type] as (what: What, start: Start) => Promise<Begun>;
    if (row.settings.heartbeat && run.due !== null && !hasHeartbeat(await this.#pathOf(row)))
      return { status: "skipped", reason: "heartbeat: HEARTBEAT.md asks for nothing" };
    // What was brought along stands in its row: the check was made before, or none is wanted.
    if (check === undefined || run.body !== null) return start(what, { row, run, leftUsd, signal });
    const { checks } = this.#options;
    const checked = await checks.run(row.settings, check, run, { path: await this.#pathOf(row), signal });
    return "status" in checked ? checked : start(what, { row, run: { ...run, ...checked }, leftUsd, signal });
  }

  /** Where a job works. */
  async #pathOf({ settings: { what } }: Pick<JobRow, "settings">): Promise<string> {
    const { store, reposDir } = this.#options;
    if ("dir" in what) return (await resolveDirectory(reposDir, what.dir)).path;
    const target = targetThread(store, what);
    const thread = target && store.threads.find(target);
    if (thread) return thread.path;
    const [row] = what.main === undefined ? [] : channelsOfAgent(store, what.main);
    if (row) return (await resolveDirectory(reposDir, row.dir)).path;
    throw new AppError("not_found", `There is no ${nameOf(what)} any more.`);
  }

  /** @throws AppError `not_found`, `thread_ended` */
  #refuseTarget(what: Kind<"input">): void {
    const { store } = this.#options;
    if (what.main !== undefined && channelsOfAgent(store, what.main).length === 0)
      throw new AppError("not_found", `what.main: no channel is heard by an agent ${what.main}.`);
    const target = targetThread(store, what);
    const thread = target && store.threads.find(target);
    if (!thread && what.main === undefined)
      throw new AppError("not_found", `what.threadId: there is no thread ${what.threadId}.`);
    if (thread && !isOpen(thread.status))
      throw new AppError("thread_ended", `${fieldOf(what)}: ${nameOf(what)} has ended.`);
  }

  /** Makes a new thread, or goes on in the one thread of all runs, which has an input each. */
  async #agent(what: AgentWhat, start: Start): Promise<Begun> {
    const { row, run } = start;
    const { store } = this.#options;
    const threadId = threadOf(run.run);
    if (!this.#isThere(threadId)) {
      const request = await this.#requestOf(what, start);
      if ("status" in request) return request;
      const one = row.threadId === null ? undefined : store.threads.find(row.threadId);
      if (what.thread === "one" && one && isOpen(one.status))
        return this.#goOn(one.threadId, what, { ...start, request });
      await this.#options.creation.create({ ...request, causes: causesOf(row, run) });
    }
    if (what.thread === "one") store.jobs.setThread(row.jobId, threadId);
    return { threadId };
  }

  /** The request for a run's thread; how the run is over if the job's directive is not what it was. */
  async #requestOf(what: AgentWhat, { row, run, leftUsd }: Start): Promise<CreateRequest | Outcome> {
    const { settings } = row;
    const over = (why: string): Outcome => ({ status: "skipped", reason: `directive: ${why}`, pauses: why });
    try {
      const making = { threadId: run.run, brought: broughtBy(run), leftUsd };
      const request = await this.#jobAgents.requestOf(settings, what, making);
      const why = whyChanged(settings.directive, keptDirective(request));
      return why === undefined ? request : over(why);
    } catch (error) {
      const isRefused = error instanceof AppError && REFUSALS.includes(error.code);
      if (!isRefused || settings.directive === undefined) throw error;
      return over(whyLost(settings.directive, error.message));
    }
  }

  /** @param start with the request for a new thread, which says how much a run may use up */
  async #goOn(
    threadId: ThreadId,
    what: AgentWhat,
    { row, run, request }: Start & { request: CreateRequest },
  ): Promise<Begun> {
    const { agents, inputs, now } = this.#options;
    const fold = await agents.foldNow(threadId);
    const used = usedOf(fold, now());
    const limits = limitsFrom(used, request.agent?.limits ?? {});
    const by = job(row.settings.name);
    if (Object.keys(limits).length > 0) await agents.control(threadId, { control: "limit", limits }, by);
    const input = inputOf(what.prompt, run);
    await inputs.send(threadId, { ...input, ...sentBy(row, run) });
    return { threadId };
  }

  async #input(what: Kind<"input">, { row, run }: Start): Promise<Begun> {
    const { store, inputs } = this.#options;
    this.#judge(row.createdBy, what);
    const threadId = await this.#targetOf(what, row);
    const thread = store.threads.find(threadId);
    if (!thread) throw new AppError("not_found", `There is no ${nameOf(what)} any more.`);
    const input = inputOf(what.text, run);
    const held = (await this.#isAbove(threadId, row)) ? ("rights" as const) : undefined;
    await inputs.send(threadId, { ...input, ...sentBy(row, run), held });
    // A terminal says nothing of what came of it.
    return kindOf(thread).hasTurns ? { threadId } : { status: "done", threadId };
  }

  /** The thread of the job's input; an agent that hears channels is made if nobody has written to it yet. */
  async #targetOf(what: Kind<"input">, { settings: { name } }: JobRow): Promise<ThreadId> {
    if (what.main === undefined) return threadOf(what.threadId ?? "");
    return (await this.#options.mainAgents.called(what.main, job(name))).threadId;
  }

  /** @throws AppError `forbidden` if a job's maker may not write there now */
  #judge(maker: Principal, what: Kind<"input">): void {
    if (this.#options.mayType(maker, this.#options.placeOf(what))) return;
    const who = describePrincipal(maker);
    throw new AppError("forbidden", `${fieldOf(what)}: ${who} may not write into ${nameOf(what)}.`);
  }

  /** Whether the thread may do more than the agent that has made the job: a person there decides then. */
  async #isAbove(threadId: ThreadId, { createdBy }: JobRow): Promise<boolean> {
    if (createdBy.kind !== "thread" || createdBy.threadId === threadId) return false;
    return this.#options.mayDoMore(threadId, threadOf(createdBy.threadId));
  }

  async #terminal(what: Kind<"terminal">, { row, run }: Start): Promise<Begun> {
    const { creation } = this.#options;
    const threadId = threadOf(run.run);
    if (this.#isThere(threadId)) return { threadId };
    // A terminal that was made by half was removed, with a command that may have begun.
    if (run.begunAt !== null) return WAS_CUT_OFF;
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
    await creation.create({ ...request, createdBy: job(name) });
    return { threadId };
  }

  async #command(what: Kind<"command">, { row, run, signal }: Start): Promise<Begun> {
    const seconds = row.settings.limits.seconds ?? undefined;
    const ended = await this.#options.commands.run(what.command, run, {
      path: await this.#pathOf(row),
      seconds,
      signal,
    });
    if ("status" in ended) return ended;
    const { output, reason } = ended;
    return reason === undefined ? { status: "done", output } : { status: "failed", reason, output };
  }

  /** Ends the turn of a run that has used up what no other limit bounds. */
  async stop(threadId: ThreadId, name: string): Promise<void> {
    await this.#options.agents.control(threadId, { control: "interrupt" }, job(name));
  }

  /** @throws AppError `unavailable` while it is made by half */
  #isThere(threadId: ThreadId): boolean {
    const thread = this.#options.store.threads.find(threadId);
    if (thread && !thread.isMade) throw new AppError("unavailable", `Thread ${threadId} is not made yet.`);
    return thread !== undefined;
  }
}

/** What a request brought; undefined if none began the run. */
function broughtBy({ body }: JobRunRow): Brought | undefined {
  return body === null ? undefined : parseBrought(body);
}

/** The jobs that led to what the run does. */
function causesOf({ settings: { name } }: JobRow, { causes }: JobRunRow): string[] {
  return joinCauses(causes, [name]);
}

/** Beside its words, all that an input of a run says. */
function sentBy(row: JobRow, run: JobRunRow) {
  const by = job(row.settings.name);
  return {
    ...{ enter: true, paste: "auto" as const, inputId: run.run, plain: true, by },
    causes: causesOf(row, run),
  };
}

/** Text from outside waits for the end of a turn. */
function inputOf(own: string, run: JobRunRow): Pick<TextInput, "text" | "when" | "outside"> {
  const brought = broughtBy(run);
  if (!brought) return { text: own };
  const when = brought.marks === undefined ? {} : { when: "next_turn" as const };
  return { text: withText(own, brought), ...when, outside: outsideOf(brought) };
}

/** @throws AppError `invalid_request` if nobody there could report */
function refuseHeartbeat({ heartbeat, what, when }: JobRow["settings"]): void {
  if (!heartbeat) return;
  if (when.type !== "every" && when.type !== "cron")
    throw new AppError(
      "invalid_request",
      "heartbeat: is for a job that is due again and again (every, cron).",
    );
  if (!("prompt" in what) && what.type !== "input")
    throw new AppError("invalid_request", "heartbeat: is for an agent, or an input into an agent's thread.");
}
