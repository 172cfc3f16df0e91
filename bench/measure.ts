/** What the benches share: a sidecar as a process of its own, percentiles, CPU and memory from /proc, rows. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SidecarClient } from "../shared/client.ts";
import { spawnSidecar } from "../test/support/sidecar.ts";

export interface Row {
  name: string;
  ours: number;
  baseline: number | undefined;
  isMet: boolean;
  bar: string;
}

export interface Measured {
  client: SidecarClient;
  url: string;
  headers: Record<string, string>;
  open: (threadId: string, command: string) => Promise<void>;
  untilEnded: (threadId: string) => Promise<void>;
  logFile: (threadId: string) => string;
  stateDir: string;
  /** The sidecar's process and its tmux server's. */
  pids: () => number[];
  /** Kills the sidecar and starts it again; seconds from the start of its process until it serves. */
  restart: () => Promise<number>;
}

export async function withSidecar<T>(
  env: Record<string, string>,
  work: (measured: Measured) => Promise<T>,
): Promise<T> {
  const sidecar = await spawnSidecar({ LOG_LEVEL: "info", MAX_THREADS: "50", MAX_AGENTS: "50", ...env });
  const { client, url, token, folders } = sidecar;
  try {
    return await work({
      client,
      url,
      headers: { authorization: `Bearer ${token}` },
      open: async (threadId, command) => {
        await client.createThread({ threadId, type: "terminal", dir: ".", command });
      },
      untilEnded: async (threadId) => {
        while ((await client.getThread(threadId)).processRunning) await sleep(50);
      },
      logFile: (threadId) => join(folders.stateDir, "logs", `${threadId}.log`),
      stateDir: folders.stateDir,
      pids: () => [sidecar.pid(), folders.tmuxPid()],
      restart: async () => {
        await sidecar.kill9();
        const startedAt = performance.now();
        await sidecar.start();
        await client.listThreads();
        return (performance.now() - startedAt) / 1_000;
      },
    });
  } finally {
    await sidecar.close();
  }
}

/** @param sorted ascending. */
export function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

/** User and system time, in clock ticks of 10 ms; with `withChildren` also that of children that were waited for. */
export function cpuSeconds(pids: readonly number[], withChildren = false): number {
  let ticks = 0;
  for (const pid of pids) {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    for (const field of withChildren ? [11, 12, 13, 14] : [11, 12]) ticks += fields[field] ?? 0;
  }
  return ticks / 100;
}

export function rssMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

export function ratioRow(
  name: string,
  ours: number,
  baseline: number,
  bar: { atMost: number } | { atLeast: number },
): Row {
  const ratio = ours / baseline;
  return "atMost" in bar
    ? { name, ours, baseline, isMet: ratio <= bar.atMost, bar: `≤ ${round(bar.atMost)} ×` }
    : { name, ours, baseline, isMet: ratio >= bar.atLeast, bar: `≥ ${round(bar.atLeast)} ×` };
}

export function formatRow({ name, ours, baseline, isMet, bar }: Row): string {
  const ratio = baseline === undefined ? "" : `${round(ours / baseline)} ×`;
  return `${name.padEnd(56)} ${round(ours).padStart(10)} ${(baseline === undefined ? "" : round(baseline)).padStart(10)} ${ratio.padStart(9)}  ${bar.padEnd(10)} ${isMet ? "met" : "MISSED"}`;
}

function round(value: number): string {
  return value.toFixed(Math.abs(value) < 1 ? 3 : 1);
}

/** Does the work so often; the milliseconds that each time took, ascending. */
export async function times(count: number, work: (i: number) => Promise<void>): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < count; i++) {
    const startedAt = performance.now();
    await work(i);
    taken.push(performance.now() - startedAt);
  }
  return taken.sort((a, b) => a - b);
}
