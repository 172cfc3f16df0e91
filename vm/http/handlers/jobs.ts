/** Jobs and their runs. */
import type { jobs as routes } from "../../../shared/protocol/jobs.ts";
import type { People } from "../../callers/people.ts";
import type { HookTests } from "../../jobs/hook-test.ts";
import type { Jobs } from "../../jobs/jobs.ts";
import type { JobNews } from "../../jobs/news.ts";
import { placeOfJob } from "../../jobs/place.ts";
import type { Homes } from "../../threads/homes.ts";
import type { Handlers } from "./handler.ts";

export interface JobServices {
  homes: Pick<Homes, "channelOf" | "channelOfMain">;
  people: Pick<People, "filterReadable">;
  jobs: Jobs;
  jobNews: Pick<JobNews, "list" | "setTold" | "sum">;
  hookTests: Pick<HookTests, "send">;
}

export function jobHandlers({
  jobs,
  jobNews,
  hookTests,
  homes,
  people,
}: JobServices): Handlers<typeof routes> {
  return {
    create: ({ body, by }) => jobs.create(body, by),
    list: ({ by }) => ({
      jobs: people.filterReadable(by, jobs.list(), (job) => placeOfJob(job, homes)),
    }),
    preview: ({ body }) => jobs.preview(body.when),
    get: ({ params }) => jobs.get(params.job),
    listRuns: ({ params, query }) => ({ runs: jobs.listRuns(params.job, query.limit) }),
    run: ({ params, by }) => ({ run: jobs.run(params.job, by) }),
    pause: ({ params, by }) => jobs.pause(params.job, by),
    resume: ({ params }) => jobs.resume(params.job),
    remove: ({ params }) => jobs.remove(params.job),
    testHook: ({ params, body }) => hookTests.send(params.job, body.body),
    listNews: ({ query }) => ({ news: jobNews.list(query.untold !== undefined, query.limit) }),
    putTold: ({ params }) => jobNews.setTold(Number(params.newsId)),
    sumNews: ({ body }) => jobNews.sum(body.newsIds),
  };
}
