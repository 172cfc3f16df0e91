/** The worst of many generated programs, in the relay's emulator and beside nine quiet threads. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type HostileProgram, printed } from "../../relay/content/testing/hostile.ts";
import { atMost, equality, type Figure, requests, told } from "./figures.ts";
import { type Extent, type Load, overall, printer, type Row, stream, withLoad } from "./load.ts";
import { measureHostile } from "./programs.ts";

const SIZES = [
  { cols: 80, rows: 24 },
  { cols: 500, rows: 200 },
];
/** The dearest sequence for tmux, far ahead of the next: each fills the screen. */
const FILL = "\x1b#8";

export const hostile: Row = async (extent) => {
  const { pick } = extent;
  const row = `worst of ${pick(1_000, 20)} programs`;
  const found = await measureHostile(pick(1_000, 20), pick(20_000, 4_000));
  const figures = [
    atMost(row, "event loop held, ms", found.holdMs, 50),
    told(row, "in CPU time, ms", found.holdCpuMs),
    atMost(row, "CPU for 100 KB, s", found.cpuSeconds, 1.5),
  ];
  for (const size of SIZES) figures.push(...(await besideNine(found.worst, size, extent)));
  return figures;
};

/** What is worst for the relay, and what is worst for tmux, one after the other, in one load. */
async function besideNine(
  worst: readonly HostileProgram[],
  size: { cols: number; rows: number },
  { pick }: Extent,
): Promise<Figure[]> {
  const row = `beside 9, ${size.cols} × ${size.rows}`;
  const texts = {
    "the relay's worst": worst.map((program) => printed(program, 100_000)).join(""),
    "tmux's worst": FILL.repeat(10_000),
  };
  const names = Object.keys(texts);
  const command = (i: number) =>
    `while [ ! -e go-${i} ]; do sleep 0.1; done; while [ -e go-${i} ]; do cat hostile-${i}; done`;
  const commands = [...Array.from({ length: 9 }, (_, i) => printer(i)), ...names.map((_, i) => command(i))];
  return withLoad(commands, async (load) => {
    const { sidecar, threadIds, latencies } = load;
    // Their text is no one's to compare.
    for (const id of threadIds.splice(9)) await sidecar.client.resizeThread(id, size);
    await stream(load, pick(40, 3), pick(3_000, 500));
    const quiet = overall(latencies, 95);
    const figures = [told(row, "p95 of the 9 before, ms", quiet)];
    for (const [i, [name, text]] of Object.entries(texts).entries()) {
      const { p95, used } = await besideOne(load, i, text, pick);
      figures.push(atMost(row, `p95 beside ${name} : before`, p95 / quiet, 1.5));
      figures.push(told(row, "the relay's CPU, %", used));
    }
    const { different } = await load.finish();
    return [...figures, ...requests(row, load), equality(row, different)];
  });
}

async function besideOne(load: Load, i: number, text: string, pick: Extent["pick"]) {
  const file = (name: string) => join(load.sidecar.reposDir, `${name}-${i}`);
  writeFileSync(file("hostile"), text);
  writeFileSync(file("go"), "");
  const used = await stream(load, pick(40, 3), pick(3_000, 500));
  const p95 = overall(load.latencies, 95);
  rmSync(file("go"));
  return { p95, used };
}
