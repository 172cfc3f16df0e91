/** A relay that starts anew beside many threads. */
import { setTimeout as sleep } from "node:timers/promises";
import { atMost, requests } from "./figures.ts";
import { printer, type Row, STAMPED, withLoad } from "./load.ts";

export const restart: Row = async ({ pick }) => {
  const count = pick(100, 10);
  const row = `restart, ${count} threads`;
  return withLoad(
    Array.from({ length: count }, (_, i) => printer(i, 1_000)),
    async (load) => {
      const { discord, relay, threadIds, latencies } = load;
      const { driver } = discord;
      await driver.until(() => latencies.size === count, { what: "all to stream", timeoutMs: 60_000 });
      await sleep(pick(5_000, 2_000));
      await relay.kill9();
      driver.stats.reset();
      const startedAt = Date.now();
      const first = new Map<string, number>();
      const stop = driver.onEvent((event) => {
        if (event.type !== "message-create" && event.type !== "message-update") return;
        const { channel_id: threadId, content } = event.message;
        const stamps = [...content.matchAll(STAMPED)].map(([, stamp]) => Number(stamp));
        if (!first.has(threadId) && Math.max(...stamps) > startedAt) first.set(threadId, Date.now());
      });
      relay.start();
      await driver.until(() => first.size === threadIds.length, { what: "all to stream", timeoutMs: 60_000 });
      stop();
      const seconds = (Math.max(...first.values()) - startedAt) / 1_000;
      const lookUps = driver.stats.requests.filter(({ method }) => method === "GET").length;
      return [
        atMost(row, "all streaming after, s", seconds, 5),
        atMost(row, "requests to look up", lookUps, 20),
        ...requests(row, load),
      ];
    },
  );
};
