/** One of Discord's limits closed for long beside ten threads that print: whom it does not concern must not feel it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { FaultRequest } from "../../local-discord/faults.ts";
import { closeBucket } from "../../test/support/limits.ts";
import { until } from "../../test/support/wait.ts";
import { atMost, equality, type Figure, told } from "./figures.ts";
import { type Load, overall, printer, type Row, stream, withLoad } from "./load.ts";

const CLOSED_MS = 25_000;

interface Closing {
  name: string;
  isMeant: (request: FaultRequest, first: string) => boolean;
  /** What runs into the limit besides the streams. */
  provoke: (load: Load) => void;
}

const BUCKETS: readonly Closing[] = [
  {
    name: "thread creation",
    isMeant: ({ method, route }) => method === "POST" && route.endsWith("/channels/:channel/threads"),
    provoke: ({ discord }) => {
      const options = { dir: ".", command: "cat" };
      discord.driver.command(discord.you.id, discord.channelId, "terminal", options);
    },
  },
  {
    name: "one thread's messages",
    isMeant: ({ path }, first) => path.includes(`/channels/${first}/messages`),
    provoke: () => undefined,
  },
  {
    name: "one interaction's answer",
    isMeant: ({ path }) => path.includes("/webhooks/"),
    provoke: ({ discord }) => {
      discord.driver.command(discord.you.id, discord.channelId, "status");
    },
  },
];

/** The first thread may wait for its own limit; the figures are of the nine others. */
export const closedBuckets: Row = async ({ pick }) => {
  const row = "one limit closed for 25 s";
  return withLoad(
    Array.from({ length: 10 }, (_, i) => printer(i)),
    async (load) => {
      const { driver } = load.discord;
      const first = load.threadIds[0] ?? "";
      const p95OfOthers = () => {
        load.latencies.delete(first);
        return overall(load.latencies, 95);
      };
      await stream(load, pick(60, 5), 3_000);
      const quiet = p95OfOthers();
      const figures: Figure[] = [told(row, "p95 of nine, quiet, ms", quiet)];
      for (const { name, isMeant, provoke } of BUCKETS) {
        const bucket = closeBucket(driver, (request) => isMeant(request, first), CLOSED_MS);
        provoke(load);
        await until("the limit to be met", () => bucket.hits() > 0);
        load.latencies.clear();
        await sleep(CLOSED_MS);
        const p95 = p95OfOthers();
        figures.push(
          told(row, `p95, ${name}, ms`, p95),
          atMost(row, `: quiet, ${name}`, p95 / quiet, 1.5),
          atMost(row, `requests refused, ${name}`, bucket.hits(), 3),
        );
        driver.faults.rest = undefined;
        await sleep(5_000);
      }
      const { different } = await load.finish();
      return [...figures, equality(row, different)];
    },
  );
};
