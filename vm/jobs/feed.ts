/** Makes runs of the requests and events that wait: of each its own, or of those that came together one. */

import { randomBytes } from "node:crypto";
import { joinCauses } from "../../shared/agent/fold-causes.ts";
import { dayStart } from "../../shared/clock-text.ts";
import { readerSchema } from "../../shared/hooks/reader.ts";
import type { HookCoalesce } from "../../shared/hooks/settings.ts";
import type { EventWhen } from "../../shared/jobs/event.ts";
import type { Webhook } from "../../shared/jobs/webhook.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { chooseMark, OUTSIDE_NOTE, type Part, renderInline } from "../../shared/outside-text.ts";
import { job } from "../../shared/principal.ts";
import { type Brought, bringOwn, bringRaw, bringRead, partsOf } from "../hooks/brought.ts";
import { dueAtOf, gather, takeDue } from "../hooks/coalesce.ts";
import type { Reader } from "../hooks/reader.ts";
import type { WaitingRequest } from "../store/hook-requests.ts";
import type { JobRow } from "../store/jobs.ts";
import type { Store } from "../store/store.ts";
import { whySkipped } from "./decide.ts";
import { eventsText, foundSchema } from "./event-match.ts";
import { takesText } from "./hooks.ts";
import { whyGone } from "./maker.ts";
import { broughtRunName } from "./names.ts";
import type { JobNews } from "./news.ts";
import type { Runs } from "./runs.ts";

/** More that wait are one run, with their number. */
const MAX_APART = 100;
const MAX_LOOKED_AT = 1_000;
/** The bodies of one run are held in memory together. */
const MAX_RUN_BYTES = 8 * 1024 * 1024;
const LOOK_EVERY_MS = 60_000;
/** Between two looks for what comes together: requests of many keys would have one each. */
const GATHER_MS = 250;
const FORGET_EVERY_MS = 3_600_000;
/** So much of a text the reader is given: each byte of it costs. */
const MAX_READ_BYTES = 16 * 1024;

type Begin = Brought & { costUsd: number; causes?: readonly string[] };

export interface HookFeedOptions {
  store: Store;
  runs: Pick<Runs, "begin">;
  news: Pick<JobNews, "pause" | "tellNone">;
  reader: Pick<Reader, "read"> | undefined;
  mayStill: (job: JobRow) => boolean;
  now: () => number;
  log: Log;
}

export class HookFeed {
  readonly #options: HookFeedOptions;
  readonly #queue = new KeyedQueue();
  readonly #closing = new AbortController();
  /** Looks that are to come, by hook. */
  readonly #planned = new Map<string, { jobId: number; timer: NodeJS.Timeout }>();
  /** Hooks that wait for their look. */
  readonly #woken = new Set<string>();
  #interval: NodeJS.Timeout | undefined;
  #forgetting: NodeJS.Timeout | undefined;

  constructor(options: HookFeedOptions) {
    this.#options = options;
  }

  start(): void {
    const look = () => {
      for (const name of this.#options.store.hookRequests.listHooks()) this.wake(name);
    };
    const { store, now } = this.#options;
    this.#forgetting = setInterval(() => store.hookRequests.forget(now()), FORGET_EVERY_MS).unref();
    this.#interval = setInterval(look, LOOK_EVERY_MS).unref();
    look();
  }

  /** A request of this hook has come. If a look is planned for what comes together, it is due no earlier than that. */
  arrive(name: string): void {
    const planned = this.#planned.get(name);
    if (planned && planned.jobId === this.#options.store.jobs.find(name)?.jobId) return;
    this.wake(name);
  }

  /** Looks at the requests of this hook that wait. */
  wake(name: string): void {
    if (this.#woken.has(name)) return;
    this.#woken.add(name);
    const pass = () => {
      this.#woken.delete(name);
      return this.#pass(name);
    };
    this.#queue.run(name, pass).catch((error: unknown) => {
      this.#options.log.error({ err: error }, "could not pass on what a hook brought; trying again");
    });
  }

  /** Resolves once nothing is being passed on. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#interval);
    clearInterval(this.#forgetting);
    for (const { timer } of this.#planned.values()) clearTimeout(timer);
    await this.#queue.idle();
  }

  async #pass(name: string): Promise<void> {
    const { store, news, mayStill, now } = this.#options;
    const row = store.jobs.find(name);
    const when = row?.settings.when;
    if (!row || (when?.type !== "webhook" && when?.type !== "event")) return store.hookRequests.remove(name);
    if (row.state !== "active" || this.#closing.signal.aborted) return;
    if (!mayStill(row)) return news.pause(row, whyGone(row.createdBy));
    const waiting = store.hookRequests.listWaiting(name, MAX_LOOKED_AT);
    const { due, nextAt } = groupsOf(waiting, coalesceOf(when), now());
    for (const ids of due) await this.#begin(row, when, ids);
    if (nextAt !== undefined) this.#wakeAt(row, nextAt);
    else if (due.length > 0 && waiting.length === MAX_LOOKED_AT) this.wake(name);
  }

  async #begin(row: JobRow, when: Webhook | EventWhen, ids: readonly string[]): Promise<void> {
    const { store, runs, news, now } = this.#options;
    const { name } = row.settings;
    if (this.#closing.signal.aborted) return;
    const run = broughtRunName(name, ids[0] ?? "");
    const spentTodayUsd = store.jobRuns.spentSince(row.jobId, dayStart(now()));
    // What a request brought is never dropped because of another run.
    const reason = whySkipped(row, { nowMs: now(), openRuns: 0, isThreadBusy: false, spentTodayUsd });
    if (reason !== null) {
      const ended = { status: "skipped", reason, claimedAt: now(), endedAt: now() } as const;
      store.transaction(() => {
        store.jobRuns.insert({ run, jobId: row.jobId, due: null, by: job(name), ...ended });
        store.hookRequests.passOn(name, ids);
        news.tellNone(row, "skipped", { run, reason });
      });
      return;
    }
    const brought = when.type === "event" ? this.#told(row, ids) : await this.#bring(row, when, ids, run);
    if (!brought) return;
    const { costUsd, causes = [], ...body } = brought;
    store.transaction(() => {
      runs.begin(row, run, job(name), { body: JSON.stringify(body), causes });
      if (costUsd > 0) store.jobRuns.update(run, { costUsd });
      store.hookRequests.passOn(name, ids);
    });
  }

  /** What the events say, and the jobs that led to them. */
  #told({ settings: { name, what } }: JobRow, ids: readonly string[]): Begin {
    const { store } = this.#options;
    const bodies = ids.flatMap((id) => store.hookRequests.findBody(name, id) ?? []);
    const found = bodies.map((body) => foundSchema.parse(JSON.parse(body.toString())));
    const causes = joinCauses(...found.map((one) => one.causes));
    return { text: takesText(what) ? eventsText(found) : "", causes, costUsd: 0 };
  }

  /** @returns undefined if the sidecar ends meanwhile */
  async #bring(
    { settings: { name, what } }: JobRow,
    when: Webhook,
    ids: readonly string[],
    run: string,
  ): Promise<Begin | undefined> {
    const { store, reader } = this.#options;
    const bodies = ids.flatMap((id) => store.hookRequests.findBody(name, id) ?? []);
    if (!takesText(what)) return { text: "", costUsd: 0 };
    const parts = partsOf(bodies, when.template);
    if (when.trust === "own") return { ...bringOwn(parts, run), costUsd: 0 };
    const mark = newMark(parts);
    if (when.raw) return { ...(await bringRaw(parts, mark, name, run)), costUsd: 0 };
    const { text } = renderInline(parts, mark, MAX_READ_BYTES);
    const settings = when.reader ?? readerSchema.parse({});
    const reading = reader
      ? await reader.read(settings, `${OUTSIDE_NOTE}\n${text}`, this.#closing.signal)
      : { problem: "there is none on this machine", costUsd: 0 };
    return reading && { ...bringRead(reading, bodies.length), costUsd: reading.costUsd };
  }

  #wakeAt({ jobId, settings: { name } }: JobRow, atMs: number): void {
    const delay = Math.max(GATHER_MS, Math.min(atMs - this.#options.now(), LOOK_EVERY_MS));
    clearTimeout(this.#planned.get(name)?.timer);
    const timer = setTimeout(() => {
      this.#planned.delete(name);
      this.wake(name);
    }, delay).unref();
    this.#planned.set(name, { jobId, timer });
  }
}

/** The events of some seconds are one run. */
function coalesceOf(when: Webhook | EventWhen): HookCoalesce | undefined {
  if (when.type === "webhook") return when.coalesce;
  return { windowSeconds: when.everySeconds, maxWaitSeconds: when.everySeconds };
}

function newMark(parts: readonly Part[]): string {
  return chooseMark(parts, (bytes) => randomBytes(bytes).toString("hex"));
}

/** @returns of each run to come the ids of its requests, and when others are due */
export function groupsOf(
  waiting: readonly WaitingRequest[],
  coalesce: HookCoalesce | undefined,
  nowMs: number,
): { due: string[][]; nextAt: number | undefined } {
  const ids = waiting.map(({ deliveryId }) => deliveryId);
  const bytesOf = new Map(waiting.map(({ deliveryId, bytes }) => [deliveryId, bytes]));
  const cut = (one: readonly string[]) => cutBySize(one, (id) => bytesOf.get(id) ?? 0);
  if (!coalesce) return { due: ids.length > MAX_APART ? cut(ids) : ids.map((id) => [id]), nextAt: undefined };
  const groups = gather(
    waiting.map(({ deliveryId: id, groupKey: key, receivedAt: at }) => ({ id, key, at })),
  );
  const { due, waiting: later } = takeDue(groups, coalesce, nowMs);
  const nextAt = later.length === 0 ? undefined : Math.min(...later.map((one) => dueAtOf(one, coalesce)));
  return { due: due.flatMap((group) => cut(group.ids)), nextAt };
}

/** Cuts a run's requests so that no piece has more than a run may have, unless it is one alone. */
function cutBySize(ids: readonly string[], bytesOf: (id: string) => number): string[][] {
  const pieces: string[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const id of ids) {
    bytes += bytesOf(id);
    if (bytes <= MAX_RUN_BYTES) {
      pieces.at(-1)?.push(id);
      continue;
    }
    pieces.push([id]);
    bytes = bytesOf(id);
  }
  return pieces;
}
