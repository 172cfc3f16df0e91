/** Ten threads, and sixty, that each print a line ten times a second. */
import { percentile } from "../measure.ts";
import { atMost, equality, requests, told } from "./figures.ts";
import { overall, printer, type Row, stream, withLoad } from "./load.ts";

export const tenThreads: Row = async ({ pick }) => {
  const row = "10 threads";
  const commands = Array.from({ length: 10 }, (_, i) => printer(i));
  return withLoad(commands, async (load) => {
    const cpu = await stream(load, pick(60, 3), pick(3_000, 500));
    const p50 = overall(load.latencies, 50);
    const p95 = overall(load.latencies, 95);
    const { different } = await load.finish();
    return [
      atMost(row, "p50, ms", p50, 1_300),
      atMost(row, "p95, ms", p95, 2_500),
      told(row, "the relay's CPU, %", cpu),
      ...requests(row, load),
      equality(row, different),
    ];
  });
};

export const sixtyThreads: Row = async ({ pick }) => {
  const row = `${pick(60, 20)} threads`;
  const commands = Array.from({ length: pick(60, 20) }, (_, i) => printer(i));
  return withLoad(commands, async (load) => {
    const cpu = await stream(load, pick(60, 3), pick(3_000, 500));
    const worst = [...load.latencies.values()]
      .map((list) =>
        percentile(
          [...list].sort((a, b) => a - b),
          95,
        ),
      )
      .sort((a, b) => a - b);
    const p50 = overall(load.latencies, 50);
    const { different } = await load.finish();
    return [
      told(row, "p50, ms", p50),
      told(row, "median thread's p95, ms", percentile(worst, 50)),
      told(row, "the relay's CPU, %", cpu),
      atMost(row, "worst p95 : median thread's", (worst.at(-1) ?? 0) / percentile(worst, 50), 1.5),
      ...requests(row, load),
      equality(row, different),
    ];
  });
};
