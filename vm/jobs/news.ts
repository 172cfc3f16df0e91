/** Notes what people are to be told of jobs. Each note stands in the transaction that makes it true. */
import { dayStart } from "../../shared/clock-text.ts";
import type { JobNews as News } from "../../shared/jobs/news.ts";
import type { Log } from "../../shared/log.ts";
import type { JobNewsRow, NewJobNews } from "../store/job-news.ts";
import type { JobRunRow } from "../store/job-runs.ts";
import type { JobRow } from "../store/jobs.ts";
import type { Store } from "../store/store.ts";

/** The word by which an agent says that there is nothing to say. */
const HEARTBEAT_OK = "HEARTBEAT_OK";

export interface JobNewsOptions {
  store: Store;
  now: () => number;
  log: Log;
}

type Note = Pick<NewJobNews, "key" | "kind" | "text"> & Partial<Pick<NewJobNews, "output">>;

export class JobNews {
  readonly #options: JobNewsOptions;

  constructor(options: JobNewsOptions) {
    this.#options = options;
  }

  /** Pauses a job that no person has paused. @param why a sentence for a person */
  pause(row: JobRow, why: string): void {
    const { store, now, log } = this.#options;
    store.transaction(() => {
      store.jobs.setState(row.jobId, "paused", why);
      this.#note(row, { key: `paused.${row.jobId}.${now()}`, kind: "paused", text: why });
    });
    log.warn({ job: row.settings.name }, `a job is paused: ${why}`);
  }

  /** A run is over. One with a thread says there what came of it; a command has none. */
  tellEnd(row: JobRow, { run, status, reason, output, threadId }: JobRunRow): void {
    if (threadId !== null || status === "skipped") return;
    const key = `end.${run}`;
    const printed = output === null || output.trim() === "" ? null : output;
    if (status !== "done") this.#note(row, { key, kind: "failed", text: reason ?? status, output: printed });
    else if (printed !== null) this.#note(row, { key, kind: "output", text: "", output: printed });
  }

  /** Tells people an agent's report of its run. A report that says only that all is well is told to nobody. */
  tellReport(
    row: JobRow,
    { run }: Pick<JobRunRow, "run">,
    { ok, text }: { ok: boolean; text: string },
  ): void {
    const words = text.trim();
    if (ok && (words === "" || words === HEARTBEAT_OK)) return;
    const said = words === "" ? "it says that not all is well" : words;
    this.#note(row, { key: `report.${run}`, kind: "report", text: ok ? said : `⚠️ ${said}` });
  }

  /** A heartbeat's agent has not said in time how it is. A report that comes later is told too. */
  tellSilence(row: JobRow, { run }: Pick<JobRunRow, "run">, why: string): void {
    this.#note(row, { key: `silent.${run}`, kind: "report", text: `⚠️ ${why}` });
  }

  /** Nobody has dealt with the job for long: is it still wanted? */
  ask(row: JobRow, text: string): void {
    this.#note(row, { key: `asks.${row.jobId}.${row.attendedAt}`, kind: "asks", text });
  }

  /** A due instant has no run. */
  tellNone(row: JobRow, status: "claimed" | "skipped" | "missed", { run, reason }: Skipped): void {
    if (status === "missed") this.#note(row, { key: `missed.${run}`, kind: "missed", text: reason ?? "" });
    if (status === "skipped" && reason?.startsWith("chain: "))
      this.#note(row, { key: `chain.${run}`, kind: "chain", text: reason.slice(7) });
    const { now } = this.#options;
    if (status === "skipped" && reason?.startsWith("cap: "))
      this.#note(row, { key: `cap.${row.jobId}.${dayStart(now())}`, kind: "cap", text: reason.slice(5) });
  }

  /** @param untold those alone that no relay has told, the oldest first; else the newest first */
  list(isUntold: boolean, limit: number): News[] {
    const { jobNews } = this.#options.store;
    return (isUntold ? jobNews.listUntold(limit) : jobNews.list(limit)).map(describe);
  }

  setTold(newsId: number): void {
    this.#options.store.jobNews.setTold(newsId);
  }

  /** Untold news of a channel become one piece with their number. */
  sum(newsIds: readonly number[]): void {
    const { store, now } = this.#options;
    store.jobNews.sum(newsIds, now());
  }

  #note({ settings }: JobRow, note: Note): void {
    const { store, now } = this.#options;
    const { name: job, report } = settings;
    store.jobNews.insert({ output: null, ...note, job, report: report ?? null, at: now() });
  }
}

interface Skipped {
  run: string;
  reason: string | null;
}

function describe({ report: channelId, at, isTold: _, ...row }: JobNewsRow): News {
  return { ...row, channelId, at: new Date(at).toISOString() };
}
