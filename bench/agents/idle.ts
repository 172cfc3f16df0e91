/** What agent threads cost that have nothing to do, and what a busy one's runner takes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runnersOf } from "../../test/support/agent-siege.ts";
import { openAgent, script } from "../../test/support/agents.ts";
import { until } from "../../test/support/wait.ts";
import { cpuSeconds, percentile, type Row, rssMib } from "../measure.ts";
import { answer, type BenchAgent } from "./agent.ts";
import { folderOf, untilCold, withAgents } from "./threads.ts";

/** V8 cleans up behind the threads' making first. */
const SETTLE_MS = 10_000;

async function idleCost(agent: BenchAgent, threads: number, seconds: number) {
  return withAgents(agent, 1, async (sidecar) => {
    const ids = Array.from({ length: threads }, (_, i) => `idle-${i}`);
    for (const id of ids) {
      await openAgent(sidecar, id, answer("hi"));
      await untilCold(sidecar, id);
    }
    await sleep(Math.min(SETTLE_MS, seconds * 500));
    const before = cpuSeconds([sidecar.pid()]);
    await sleep(seconds * 1_000);
    const cpu = cpuSeconds([sidecar.pid()]) - before;
    const runners = ids.flatMap((id) => runnersOf(folderOf(sidecar, id))).length;
    return { cpu, rss: rssMib(sidecar.pid()), runners };
  });
}

export async function rowIdle(agent: BenchAgent, threads: number, seconds: number): Promise<Row[]> {
  const without = await idleCost(agent, 0, seconds);
  const { cpu, rss, runners } = await idleCost(agent, threads, seconds);
  const row = (
    name: string,
    ours: number,
    baseline: number | undefined,
    isMet: boolean,
    bar: string,
  ): Row => ({
    name,
    ours,
    baseline,
    isMet,
    bar,
  });
  const [cpuName, memory] = [
    `CPU of ${threads} idle agents, ${seconds} s (s)`,
    `memory of ${threads} idle agents`,
  ];
  return [
    row(`processes of ${threads} idle agents`, runners, undefined, runners === 0, "0"),
    row(cpuName, cpu, without.cpu, cpu - without.cpu <= 0.1, "+ 0.1 s"),
    row(`${memory} (MiB)`, rss, without.rss, rss - without.rss <= 60, "+ 60 MiB"),
  ];
}

/**
 * The threads' runners in the middle of a turn, beside each other.
 * @param settleMs V8 cleans up behind a start only after some 10 s without much work.
 */
export async function rowRunner(agent: BenchAgent, threads: number, settleMs: number): Promise<Row[]> {
  return withAgents(agent, 600, async (sidecar) => {
    const ids = Array.from({ length: threads }, (_, i) => `busy-${i}`);
    const go = join(sidecar.folders.path, "go");
    for (const id of ids) {
      await openAgent(sidecar, id, script("hi", { text: "A long answer.", pauseFor: go }));
    }
    await sleep(settleMs);
    const sizes: Memory[] = [];
    for (const id of ids) {
      sizes.push(memoryOf(await until("a runner", () => runnersOf(folderOf(sidecar, id))[0])));
    }
    const p50 = (name: keyof Memory) =>
      percentile(
        sizes.map((size) => size[name]).sort((a, b) => a - b),
        50,
      );
    const [pss, own] = [p50("pss"), p50("own")];
    const name = (what: string) => `${what} a runner, ${threads} busy (MiB)`;
    return [
      { name: name("PSS"), ours: pss, baseline: undefined, isMet: pss <= 15, bar: "≤ 15 MiB" },
      // PSS depends on how many other Node processes share its pages; this does not.
      { name: name("own memory of"), ours: own, baseline: undefined, isMet: true, bar: "" },
    ];
  });
}

interface Memory {
  pss: number;
  /** Private: shared with no process. */
  own: number;
}

export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
  const mib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]) / 1_024;
  return { pss: mib("Pss"), own: mib("Private_Clean") + mib("Private_Dirty") };
}
