/** What generated hostile programs cost the relay's documents, and the worst of them. */
import { Document } from "../../relay/content/document.ts";
import {
  HEAVY,
  type HostileProgram,
  hostileProgram,
  measureFeed,
  printed,
} from "../../relay/content/testing/hostile.ts";

export interface HostileFigures {
  /** The longest that the event loop stood still, by the clock, and in CPU time. */
  holdMs: number;
  holdCpuMs: number;
  /** The dearest program's seconds of CPU for 100 KB. */
  cpuSeconds: number;
  /** The dearest programs, the worst one first. */
  worst: readonly HostileProgram[];
}

const SIZES = [
  { cols: 80, rows: 24 },
  { cols: 500, rows: 200 },
];

/** Feeds `count` generated programs, and each heavy sequence by itself, to a document of each size. */
export async function measureHostile(count: number, bytes: number): Promise<HostileFigures> {
  const programs = [
    ...HEAVY.map((period) => ({ name: JSON.stringify(period), period })),
    ...Array.from({ length: count }, (_, seed) => hostileProgram(seed)),
  ];
  // What the first calls of anything cost is no program's fault.
  for (const program of programs.slice(0, HEAVY.length)) {
    await measureFeed(new Document({ cols: 80, rows: 24 }), printed(program, 2_000));
  }
  const results: { program: HostileProgram; holdMs: number; holdCpuMs: number; cpuSeconds: number }[] = [];
  for (const size of SIZES) {
    for (const program of programs) {
      const text = printed(program, bytes);
      const { holdMs, holdCpuMs, cpuMs } = await measureFeed(new Document(size), text);
      const cpuSeconds = (cpuMs / 1_000) * (100_000 / Buffer.byteLength(text));
      results.push({ program, holdMs, holdCpuMs, cpuSeconds });
    }
  }
  results.sort((a, b) => b.cpuSeconds - a.cpuSeconds);
  return {
    holdMs: Math.max(...results.map((result) => result.holdMs)),
    holdCpuMs: Math.max(...results.map((result) => result.holdCpuMs)),
    cpuSeconds: results[0]?.cpuSeconds ?? 0,
    worst: results.slice(0, 10).map((result) => result.program),
  };
}
