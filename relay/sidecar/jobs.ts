/** Jobs as the relay sees them, in the name of whoever asks. */
import type { SidecarClient } from "../../shared/client.ts";
import type { JobPreview } from "../../shared/jobs/api.ts";
import type { Job, JobRequest, JobRun } from "../../shared/jobs/job.ts";
import type { JobNews } from "../../shared/jobs/news.ts";
import { jobs } from "../../shared/protocol/jobs.ts";

export class VmJobs {
  readonly #client: SidecarClient;

  constructor(client: SidecarClient) {
    this.#client = client;
  }

  create(request: JobRequest): Promise<Job> {
    return this.#client.call(jobs.create, {}, { body: request });
  }

  preview(when: JobRequest["when"]): Promise<JobPreview> {
    return this.#client.call(jobs.preview, {}, { body: { when } });
  }

  async list(): Promise<Job[]> {
    return (await this.#client.call(jobs.list, {})).jobs;
  }

  async listRuns(job: string, limit: number): Promise<JobRun[]> {
    return (await this.#client.call(jobs.listRuns, { job }, { query: { limit } })).runs;
  }

  async run(job: string): Promise<string> {
    return (await this.#client.call(jobs.run, { job })).run;
  }

  pause(job: string): Promise<Job> {
    return this.#client.call(jobs.pause, { job });
  }

  resume(job: string): Promise<Job> {
    return this.#client.call(jobs.resume, { job });
  }

  /** Lists the news that no relay has told, the oldest first. */
  async listUntold(): Promise<JobNews[]> {
    return (await this.#client.call(jobs.listNews, {}, { query: { untold: "1", limit: 100 } })).news;
  }

  async putTold({ newsId }: JobNews): Promise<void> {
    await this.#client.call(jobs.putTold, { newsId: `${newsId}` });
  }

  /** Makes one piece of news of several of a channel: a relay that is killed then has that one to tell. */
  async sumNews(news: readonly JobNews[]): Promise<void> {
    await this.#client.call(jobs.sumNews, {}, { body: { newsIds: news.map(({ newsId }) => newsId) } });
  }

  async remove(job: string): Promise<void> {
    await this.#client.call(jobs.remove, { job });
  }
}
