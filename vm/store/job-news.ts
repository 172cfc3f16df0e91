/** News of jobs that people are to be told, each once. */
import * as z from "zod";
import { type DiscordId, knownDiscordId } from "../../shared/ids.ts";
import { JOB_NEWS_KINDS, type JobNewsKind } from "../../shared/jobs/news.ts";
import type { Database } from "./database.ts";

/** The most rows that are kept: the oldest go, told or not. */
const MAX_NEWS = 500;

const rowSchema = z
  .object({
    news_id: z.int(),
    job: z.string(),
    kind: z.enum(JOB_NEWS_KINDS),
    text: z.string(),
    output: z.string().nullable(),
    report: knownDiscordId.nullable(),
    at: z.int(),
    is_told: z.int(),
    count: z.int(),
  })
  .transform(({ news_id, is_told, ...row }) => ({ ...row, newsId: news_id, isTold: is_told === 1 }));
export type JobNewsRow = z.output<typeof rowSchema>;

export interface NewJobNews {
  /** The same a second time is no news. */
  key: string;
  job: string;
  kind: JobNewsKind;
  text: string;
  output: string | null;
  /** Where the job wants it told; null: in the first channel. */
  report: DiscordId | null;
  at: number;
}

export class JobNewsTable {
  readonly #db: Database;
  readonly #add;
  readonly #prune;
  readonly #list;
  readonly #listUntold;
  readonly #findUntold;
  readonly #setTold;

  constructor(db: Database) {
    this.#db = db;
    this.#add = db.prepare(
      `INSERT OR IGNORE INTO job_news (key, job, kind, text, output, report, at, count)
       VALUES (@key, @job, @kind, @text, @output, @report, @at, @count)`,
    );
    this.#prune = db.prepare(
      `DELETE FROM job_news WHERE news_id <= (SELECT news_id FROM job_news ORDER BY news_id DESC LIMIT 1 OFFSET ?)`,
    );
    this.#list = db.prepare("SELECT * FROM job_news ORDER BY news_id DESC LIMIT ?");
    // Takes the oldest of each channel first: a channel in which nothing can be told keeps no other waiting.
    this.#listUntold = db.prepare(
      `SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY report ORDER BY news_id) AS place
         FROM job_news WHERE is_told = 0) ORDER BY place, news_id LIMIT ?`,
    );
    this.#findUntold = db.prepare("SELECT * FROM job_news WHERE news_id = ? AND is_told = 0");
    this.#setTold = db.prepare("UPDATE job_news SET is_told = 1 WHERE news_id = ?");
  }

  /** Call it within the transaction that makes it true. */
  insert(news: NewJobNews): void {
    this.#insert({ ...news, count: 1 });
  }

  /**
   * Puts those that are untold together as one piece of kind `more`, in the channel of the newest. Those that are told
   * are left out, so the same again changes nothing.
   */
  sum(newsIds: readonly number[], at: number): void {
    this.#db.transaction(() => {
      const untold = [...new Set(newsIds)]
        .sort((one, other) => one - other)
        .flatMap((newsId) => {
          const row = this.#findUntold.get(newsId);
          return row === undefined ? [] : [rowSchema.parse(row)];
        });
      const last = untold.at(-1);
      if (!last) return;
      for (const { newsId } of untold) this.setTold(newsId);
      const count = untold.reduce((sum, one) => sum + one.count, 0);
      const { report } = last;
      const more = { key: `more.${last.newsId}`, job: "", kind: "more", text: "", output: null } as const;
      this.#insert({ ...more, report, at, count });
    });
  }

  /** The newest first. */
  list(limit: number): JobNewsRow[] {
    return this.#list.all(limit).map((row) => rowSchema.parse(row));
  }

  /** Those that the relay has not told, the oldest first. */
  listUntold(limit: number): JobNewsRow[] {
    const rows = this.#listUntold.all(limit).map((row) => rowSchema.parse(row));
    return rows.sort((one, other) => one.newsId - other.newsId);
  }

  setTold(newsId: number): void {
    this.#setTold.run(newsId);
  }

  #insert(news: NewJobNews & { count: number }): void {
    if (this.#add.run(news).changes > 0) this.#prune.run(MAX_NEWS);
  }
}
