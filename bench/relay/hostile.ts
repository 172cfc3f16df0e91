/** The worst of many generated programs, in the relay's emulator and beside nine quiet threads. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { printed } from "../../relay/content/testing/hostile.ts";
import { atMost, equality, requests, told } from "./figures.ts";
import { overall, printer, type Row, stream, withLoad } from "./load.ts";
import { measureHostile } from "./programs.ts";

/** The worst of many generated programs, again and again, on the largest screen. */
export const hostile: Row = async ({ pick }) => {
  const row = `worst of ${pick(1_000, 20)} programs`;
  const {
    holdMs,
    holdCpuMs,
    cpuSeconds: cpu,
    worst,
  } = await measureHostile(pick(1_000, 20), pick(20_000, 4_000));
  const command = "while [ ! -e hostile ]; do sleep 0.1; done; while :; do cat hostile; done";
  const beside = `${row} beside 9`;
  return withLoad([...Array.from({ length: 9 }, (_, i) => printer(i)), command], async (load) => {
    const { sidecar, threadIds, latencies } = load;
    // Its text is no one's to compare.
    const id = threadIds.pop() ?? "";
    await sidecar.client.resizeThread(id, { cols: 500, rows: 200 });
    const seconds = pick(40, 3);
    await stream(load, seconds, pick(3_000, 500));
    const quiet = overall(latencies, 95);
    const text = worst.map((program) => printed(program, 100_000)).join("");
    writeFileSync(join(sidecar.reposDir, "hostile"), text);
    const used = await stream(load, seconds, pick(3_000, 500));
    const p95 = overall(latencies, 95);
    const { different } = await load.finish();
    return [
      atMost(row, "event loop held, ms", holdMs, 50),
      told(row, "in CPU time, ms", holdCpuMs),
      atMost(row, "CPU for 100 KB, s", cpu, 1.5),
      told(beside, "p95 of the 9 before, ms", quiet),
      atMost(beside, "p95 of the 9 : before", p95 / quiet, 1.5),
      told(beside, "the relay's CPU, %", used),
      ...requests(beside, load),
      equality(beside, different),
    ];
  });
};
