/**
 * Budgets of threads: what their processes may take of the machine together. The kernel holds them; the thread is told
 * when one was reached.
 */
import { closeSync, constants, openSync, writeSync } from "node:fs";
import {
  type Budget,
  type BudgetUse,
  formatLimit,
  MIN_AGENT_MEMORY_BYTES,
  MIN_AGENT_PIDS,
  RESOURCES,
  type Resource,
} from "../../shared/budget.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import type { Log } from "../../shared/log.ts";
import type { BudgetGroups, Problems } from "../processes/budget-groups.ts";
import type { Taken } from "../processes/controllers.ts";
import type { StoredBudget } from "../store/budgets.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import type { CreateRequest } from "./kinds/kind.ts";

/** How often it is looked for limits that were reached: three small files a thread that has a budget. */
export const BUDGET_LOOK_MS = 5_000;
/** A program that runs into a limit again and again is told of once in this time. */
const TELL_MS = 60_000;
/** Seconds for which processors were kept from a thread, before that is worth a word. */
const WAITED_SECONDS = 10;

type TellAgent = (threadId: ThreadId, sentence: string) => void;

export interface BudgetsOptions {
  store: Store;
  groups: BudgetGroups;
  /** The budget of threads that name none. */
  usual: Budget;
  /** How often it is looked for limits that were reached. */
  lookMs: number;
  log: Log;
  now: () => number;
}

export class Budgets {
  readonly #options: BudgetsOptions;
  readonly #toldAt = new Map<string, number>();
  /** By the thread's marker. */
  readonly #refused = new Map<string, Problems>();
  #tellAgent: TellAgent | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BudgetsOptions) {
    this.#options = options;
  }

  /** Why a resource is held for no thread. */
  get problems(): Problems {
    return this.#options.groups.problems;
  }

  /** Looks after the budgets from now on. @param tellAgent puts a sentence into an agent's transcript */
  start(tellAgent: TellAgent): void {
    this.#tellAgent = tellAgent;
    this.#timer = setInterval(() => this.look(), this.#options.lookMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /**
   * Looks whether anything of the kind runs within the budget that is asked for.
   * @throws AppError `invalid_request`
   */
  check({ type, budget }: Pick<CreateRequest, "type" | "budget">): void {
    if (!kindOf({ type }).hasTurns) return;
    const { memory = Number.POSITIVE_INFINITY, pids = Number.POSITIVE_INFINITY } = budget ?? {};
    if (memory < MIN_AGENT_MEMORY_BYTES)
      throw new AppError(
        "invalid_request",
        `budget.memory: no agent runs in less than ${formatLimit("memory", MIN_AGENT_MEMORY_BYTES)}.`,
      );
    if (pids < MIN_AGENT_PIDS)
      throw new AppError("invalid_request", `budget.pids: no agent runs with less than ${MIN_AGENT_PIDS}.`);
  }

  /** Stores what a new thread may take, within the transaction that stores the thread. */
  store(threadId: ThreadId, budget: Budget | undefined): void {
    const { store, usual } = this.#options;
    const whole = { ...usual, ...budget };
    if (RESOURCES.some((resource) => whole[resource] !== undefined)) store.budgets.insert(threadId, whole);
  }

  /** Tells a new thread which limits nothing holds here: those that were asked for, and those that the kernel refused. */
  sayNotHeld(
    { threadId, marker }: Pick<StoredThread, "threadId" | "marker">,
    asked: Budget | undefined,
  ): void {
    const { store, groups } = this.#options;
    const refused = this.#refused.get(marker);
    for (const [resource, limit] of limitsOf({ budget: store.budgets.find(threadId)?.budget ?? {} })) {
      const missing = asked?.[resource] === undefined ? undefined : groups.problems[resource];
      const problem = refused?.[resource] ?? missing;
      if (problem === undefined) continue;
      this.#tell(
        threadId,
        `Nothing holds the budget of ${formatLimit(resource, limit)} on this machine: ${problem}.`,
      );
    }
  }

  /** The control groups of a thread whose program is about to start, with its limits. */
  groupsOf({ threadId, marker }: Pick<StoredThread, "threadId" | "marker">): string[] {
    const { store, groups, log } = this.#options;
    const stored = store.budgets.find(threadId);
    if (!stored) return [];
    const { paths, refused } = groups.make(marker, stored.budget);
    this.#beginAnew(stored, groups.read(marker, stored.budget));
    if (Object.keys(refused).length > 0) {
      this.#refused.set(marker, refused);
      log.error({ threadId, refused }, "a thread runs without a part of its budget");
    }
    return paths;
  }

  /**
   * An adopted thread, whose row is lost, has the budget that the kernel still holds it to. Within the transaction that
   * stores the thread.
   */
  adopt(threadId: ThreadId, marker: string): void {
    const { store, groups } = this.#options;
    const budget = groups.findLimits(marker);
    if (Object.keys(budget).length === 0) return;
    store.budgets.insert(threadId, budget);
    // Its people were told of these, for all that is known.
    const taken = groups.read(marker, budget);
    const told = RESOURCES.flatMap((resource) => {
      const held = taken[resource];
      return held ? [[resource, countOf(resource, held)]] : [];
    });
    store.budgets.setTold(threadId, Object.fromEntries(told));
  }

  /** A thread's budget, and what it takes of that now; null if it has none. */
  useOf({ threadId, marker }: Pick<StoredThread, "threadId" | "marker">): BudgetUse | null {
    const { store, groups } = this.#options;
    const stored = store.budgets.find(threadId);
    if (!stored) return null;
    const taken = groups.read(marker, stored.budget);
    const refused = this.#refused.get(marker);
    const use: BudgetUse = { notHeld: [] };
    for (const [resource, limit] of limitsOf(stored)) {
      if ((groups.problems[resource] ?? refused?.[resource]) !== undefined) use.notHeld.push(resource);
      else use[resource] = { limit, used: 0, hits: 0, ...taken[resource] };
    }
    return use;
  }

  /** Its processes have ended. */
  end(marker: string): void {
    this.#refused.delete(marker);
    this.#options.groups.remove(marker);
  }

  /** Tells the threads which of their limits were reached since they were told last. */
  look(): void {
    const { store, groups, log, now } = this.#options;
    for (const stored of store.budgets.listOpen()) {
      const thread = store.threads.find(stored.threadId);
      if (!thread) continue;
      try {
        this.#lookAt(stored, groups.read(thread.marker, stored.budget));
      } catch (error) {
        log.warn({ threadId: stored.threadId, err: error }, "a thread's budget can't be read");
      }
    }
    for (const [key, at] of this.#toldAt) if (now() - at >= TELL_MS) this.#toldAt.delete(key);
  }

  #lookAt(stored: StoredBudget, taken: Partial<Record<Resource, Taken>>): void {
    const { store, now } = this.#options;
    const { threadId } = stored;
    const told = { ...stored.told };
    let isChanged = false;
    for (const [resource, limit] of limitsOf(stored)) {
      const held = taken[resource];
      if (!held) continue;
      const last = told[resource] ?? 0;
      const count = countOf(resource, held);
      const least = resource === "cpu" ? WAITED_SECONDS : 1;
      const key = `${threadId} ${resource}`;
      if (count - last < least || now() - (this.#toldAt.get(key) ?? 0) < TELL_MS) continue;
      this.#toldAt.set(key, now());
      this.#tell(threadId, sentenceOf(resource, limit, (told[`${resource}Before`] ?? 0) + count));
      told[resource] = count;
      isChanged = true;
    }
    if (isChanged) store.budgets.setTold(threadId, told);
  }

  /** Groups are new after the machine has started, or the thread's processes have: their counts begin at 0 again. */
  #beginAnew({ threadId, told }: StoredBudget, taken: Partial<Record<Resource, Taken>>): void {
    const next = { ...told };
    for (const resource of RESOURCES) {
      const [held, last = 0] = [taken[resource], told[resource]];
      if (!held || last === 0 || countOf(resource, held) > 0) continue;
      next[`${resource}Before`] = (next[`${resource}Before`] ?? 0) + last;
      next[resource] = 0;
    }
    this.#options.store.budgets.setTold(threadId, next);
  }

  #tell(threadId: ThreadId, sentence: string): void {
    const { store, log } = this.#options;
    log.warn({ threadId }, sentence);
    const thread = store.threads.find(threadId);
    if (!thread) return;
    const { tty } = thread;
    if (kindOf(thread).hasTurns) this.#tellAgent?.(threadId, sentence);
    else if (tty !== "") print(tty, `\r\nthreadmux: ${sentence}\r\n`, log);
  }
}

function limitsOf({ budget }: Pick<StoredBudget, "budget">): [Resource, number][] {
  return RESOURCES.flatMap((resource): [Resource, number][] => {
    const limit = budget[resource];
    return limit === undefined ? [] : [[resource, limit]];
  });
}

/** A processor is kept from a program a little all the time: it is told in seconds, the others in events. */
function countOf(resource: Resource, { used, hits }: Taken): number {
  return resource === "cpu" ? Math.floor(used) : hits;
}

/** @param count of the thread's whole life: so each sentence is another one, and an agent is told none twice. */
function sentenceOf(resource: Resource, limit: number, count: number): string {
  const reached = `The thread has reached its budget of ${formatLimit(resource, limit)}: `;
  const times = (one: string, many: string) => (count === 1 ? one : `${count} ${many}`);
  if (resource === "memory")
    return `${reached}the kernel has ended ${times("a process", "processes")} of it.`;
  if (resource === "pids") return `${reached}${times("a new process was", "new processes were")} refused.`;
  return `${reached}it has waited ${count} s for them.`;
}

/**
 * Prints a line in a terminal, as the kernel's `wall` does: it stands in the log in its place among what the program
 * prints. A terminal that takes nothing now (its output was stopped) is not waited for.
 */
function print(tty: string, text: string, log: Log): void {
  try {
    const fd = openSync(tty, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      writeSync(fd, text);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    log.warn({ tty, err: error }, "a thread's terminal takes no line");
  }
}
