/** vitest's global set-up: names the run, and fails it where a process, tmux server or file outlives it. */
import { existsSync, readdirSync } from "node:fs";
import { runRoot } from "./folders.ts";
import { listProcesses, type Process } from "./processes.ts";
import { bundlePrograms } from "./programs.ts";
import { beginRun, endRun, isOfThisRun } from "./reaper.ts";
import { until } from "./wait.ts";

export async function setup(): Promise<() => Promise<void>> {
  await bundlePrograms();
  beginRun();
  return async () => {
    // What was told to end may still be about to; only what stays is a leak.
    await until("leaks to go", () => findLeaks().length === 0, { timeoutMs: 20_000 }).catch(() => undefined);
    const leaks = findLeaks();
    await endRun(); // said, then tidied
    if (leaks.length === 0) {
      console.log("leak check: no process, tmux server or file left behind");
      return;
    }
    process.exitCode = 1;
    throw new Error(`leak check: left behind: ${leaks.join("; ")}`);
  };
}

function findLeaks(): string[] {
  const processes = listProcesses().filter(isOfThisRun).map(describe);
  const files = existsSync(runRoot()) ? readdirSync(runRoot()).map((name) => `file ${name}`) : [];
  return [...processes, ...files];
}

function describe({ pid, command }: Process): string {
  const what = /^tmux .*-S/.test(command) ? "tmux server" : "process";
  return `${what} ${pid} (${command.slice(0, 120)})`;
}
