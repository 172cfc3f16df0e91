/** A program that prints megabytes, alone and beside others: how long until its end is shown, and what the others feel. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../../test/support/wait.ts";
import { cpuSeconds } from "../measure.ts";
import { atMost, equality, requests, told } from "./figures.ts";
import { overall, printer, type Row, stream, withLoad } from "./load.ts";

/** A flood beside so many other threads, which print a line ten times a second. */
export const floodBeside =
  (others: number, megabytes: number): Row =>
  async ({ pick }) => {
    const row = `${megabytes} MB flood ${others === 0 ? "alone" : `beside ${others}`}`;
    const bytes = pick(megabytes, 3) * 1024 * 1024;
    const gate = "while [ ! -e flood ]; do sleep 0.1; done";
    const command = `${gate}; seq -f 'flood %.0f' 100000000 | head -c ${bytes}; echo; echo "that was all of it"; touch flooded; exec cat`;
    return withLoad([...Array.from({ length: others }, (_, i) => printer(i)), command], async (load) => {
      const { discord, sidecar, threadIds, latencies } = load;
      const flooded = threadIds.at(-1) ?? "";
      if (others > 0) await stream(load, pick(5, 2), pick(3_000, 500));
      latencies.clear();
      const before = discord.driver.messages(flooded).length;
      const cpu = cpuSeconds([load.relay.pid()]);
      const startedAt = performance.now();
      writeFileSync(join(sidecar.reposDir, "flood"), "");
      await until("the flood to be printed", () => existsSync(join(sidecar.reposDir, "flooded")), {
        timeoutMs: 120_000,
      });
      const endedAt = performance.now();
      // As a page: while the flood goes on, its gap shows the newest lines as well.
      const findEnd = () =>
        discord.driver
          .messages(flooded)
          .findIndex(({ content }) => content.startsWith("```") && content.includes("that was all of it"));
      await discord.driver.until(() => findEnd() >= 0, { what: "the flood's end", timeoutMs: 120_000 });
      const used = findEnd() - before;
      const shownMs = performance.now() - endedAt;
      const floodCpu = cpuSeconds([load.relay.pid()]) - cpu;
      await sleep(pick(20_000, 1_000));
      const p50 = overall(latencies, 50);
      const p95 = overall(latencies, 95);
      const { different } = await load.finish();
      return [
        ...(others === 0
          ? []
          : [
              atMost(row, "p50 of the others, ms", p50, 1_690),
              atMost(row, "p95 of the others, ms", p95, 3_250),
            ]),
        atMost(row, "end shown after, ms", shownMs, 5_000),
        told(row, "printed in, ms", endedAt - startedAt),
        told(row, "the relay's CPU for it, s", floodCpu),
        atMost(row, "messages before the end", used, 7),
        ...requests(row, load),
        equality(row, different),
      ];
    });
  };
