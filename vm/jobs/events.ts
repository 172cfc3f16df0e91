/**
 * Finds the events that start jobs. What is found waits as a hook's requests do, in the transaction that notes how far
 * events were read: a sidecar that is killed finds each of them once.
 */
import { causesNow, joinCauses } from "../../shared/agent/fold-causes.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { lazy } from "../../shared/lazy.ts";
import type { Log } from "../../shared/log.ts";
import { job } from "../../shared/principal.ts";
import { linesOf } from "../events/frames.ts";
import { type Json, parseBody } from "../hooks/body.ts";
import type { EventRow } from "../store/events.ts";
import type { JobRow } from "../store/jobs.ts";
import type { Store } from "../store/store.ts";
import { hasExpired } from "./decide.ts";
import { addFound, eventLine, type Found, isMeant, whyChained } from "./event-match.ts";
import { chainRunName } from "./names.ts";
import type { JobNews } from "./news.ts";

/** Between two looks: what comes meanwhile is looked at together. */
const LOOK_EVERY_MS = 1_000;
const LOOKED_AT_ONCE = 500;
/** A job's events are known again for so long, as a hook's requests are. */
const KNOWN_MS = 7 * 86_400_000;

export interface JobEventsOptions {
  store: Store;
  /** The file of a thread's transcript. */
  transcript: (threadId: ThreadId) => string;
  tagsOf: (threadId: ThreadId) => readonly string[];
  news: Pick<JobNews, "tellNone">;
  /** Something waits for this job. */
  onFound: (name: string) => void;
  now: () => number;
  log: Log;
}

export class JobEvents {
  readonly #options: JobEventsOptions;
  /** The types that some active job is for. */
  #wanted = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: JobEventsOptions) {
    this.#options = options;
    options.store.events.listen((type) => {
      if (this.#wanted.has(type)) this.#plan(LOOK_EVERY_MS);
    });
  }

  /** Call it before a job of events becomes active: what came until now is not for it. */
  settle(): void {
    while (this.#look());
  }

  /** Jobs of events were made or resumed. */
  refresh(): void {
    this.#wanted = typesOf(this.#options.store.jobs.listOfEvents());
  }

  /** At the sidecar's start: what came while it was away counts. */
  start(): void {
    this.#wanted = typesOf(this.#options.store.jobs.listOfEvents());
    this.#plan(0);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #plan(ms: number): void {
    if (this.#isClosed || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#look()) this.#plan(0);
    }, ms).unref();
  }

  /** @returns whether there is more to look at */
  #look(): boolean {
    const { store, log, onFound } = this.#options;
    try {
      const jobs = store.jobs.listOfEvents();
      this.#wanted = typesOf(jobs);
      const newest = store.events.newest();
      const after = store.jobs.eventsRead();
      const rows =
        jobs.length > 0 ? store.events.listOfTypes([...this.#wanted], after, newest, LOOKED_AT_ONCE) : [];
      const isMore = rows.length === LOOKED_AT_ONCE;
      const end = isMore ? (rows.at(-1)?.eventId ?? newest) : newest;
      const names = store.transaction(() => {
        const found = this.#match(rows, jobs);
        store.jobs.setEventsRead(end);
        return found;
      });
      for (const name of names) onFound(name);
      return isMore;
    } catch (error) {
      log.error({ err: error }, "could not look at the events for jobs; trying again");
      this.#plan(60_000);
      return false;
    }
  }

  /** @returns the jobs for which something waits now */
  #match(rows: readonly EventRow[], jobs: readonly JobRow[]): string[] {
    if (rows.length === 0) return [];
    const { store, transcript, tagsOf, now } = this.#options;
    const lines = linesOf(rows, transcript);
    const found = new Map<JobRow, Found>();
    const names = new Map<ThreadId, string>();
    for (const [index, row] of rows.entries()) {
      const json = lazy(() => jsonOf(lines[index]));
      const seen = { row, tags: lazy(() => tagsOf(row.threadId)), json };
      const causes = lazy(() => this.#causesOf(row));
      for (const one of jobs) {
        const { when } = one.settings;
        if (when.type !== "event" || !isMeant(when, seen) || hasExpired(one.settings, now())) continue;
        if (this.#isChained(one, causes())) continue;
        const before = found.get(one) ?? { count: 0, lines: [], causes: [] };
        const thread = names.get(row.threadId) ?? this.#nameOf(row.threadId);
        names.set(row.threadId, thread);
        found.set(one, addFound(before, eventLine(row.type, thread, json()), causes()));
      }
    }
    const first = rows[0]?.eventId ?? 0;
    store.hookRequests.add(
      [...found].map(([{ settings }, body]) => ({
        ...{ hook: settings.name, deliveryId: `e${first}`, receivedAt: now(), knownUntil: now() + KNOWN_MS },
        ...{ groupKey: "", outcome: "taken" as const, body: Buffer.from(JSON.stringify(body)) },
      })),
    );
    return [...found.keys()].map(({ settings }) => settings.name);
  }

  /** Whether it is not started by what it, or too many others, led to; that is said once of each chain. */
  #isChained(row: JobRow, causes: readonly string[]): boolean {
    const { store, news, now } = this.#options;
    const { name } = row.settings;
    const reason = whyChained(name, causes);
    if (reason === undefined) return false;
    const at = now();
    const run = chainRunName(name, causes);
    const skipped = { run, jobId: row.jobId, due: null, status: "skipped" as const, reason, by: job(name) };
    const isNew = store.jobRuns.insert({ ...skipped, claimedAt: at, endedAt: at, causes: [...causes] });
    if (isNew) news.tellNone(row, "skipped", { run, reason });
    return true;
  }

  /** An event of a transcript has its own; what the sidecar says of a thread comes from what that thread does. */
  #causesOf({ threadId, causes, byte }: EventRow): string[] {
    if (byte !== null) return causes;
    const { store } = this.#options;
    const fold = store.agents.find(threadId)?.fold;
    const maker = store.threads.find(threadId)?.createdBy;
    const [run] = store.jobRuns.listOfThread(threadId);
    const ofRun = run ? [...run.causes, store.jobs.get(run.jobId).settings.name] : [];
    return joinCauses(fold ? causesNow(fold) : [], ofRun, maker?.kind === "job" ? [maker.name] : []);
  }

  #nameOf(threadId: ThreadId): string {
    const { store } = this.#options;
    const number = store.agents.find(threadId)?.number;
    const name = store.threads.find(threadId)?.name ?? threadId;
    return number === undefined ? name : `#${number} (${name})`;
  }
}

function typesOf(rows: readonly JobRow[]): Set<string> {
  return new Set(rows.flatMap(({ settings: { when } }) => (when.type === "event" ? when.events : [])));
}

function jsonOf(line: string | undefined): Json {
  return line === undefined ? undefined : parseBody(Buffer.from(line));
}
