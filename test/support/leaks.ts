/** vitest's global set-up: names the run, and fails it where a process, tmux server or file outlives it. */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { RUN_VARIABLE, runRoot } from "./folders.ts";
import { listProcesses, type Process, signal } from "./processes.ts";
import { bundlePrograms } from "./programs.ts";
import { until } from "./wait.ts";

export async function setup(): Promise<() => Promise<void>> {
  await bundlePrograms();
  process.env[RUN_VARIABLE] = randomBytes(3).toString("hex");
  const before = findLeaks();
  if (before.length > 0) throw new Error(`leak check: not clean before the run: ${before.join("; ")}`);
  return async () => {
    // What was told to end may still be about to; only what stays is a leak.
    await until("leaks to go", () => findLeaks().length === 0, { timeoutMs: 20_000 }).catch(() => undefined);
    const leaks = findLeaks();
    for (const { pid } of listProcesses().filter(isOfThisRun)) signal(pid, "SIGKILL"); // said, then tidied
    rmSync(runRoot(), { recursive: true, force: true });
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

function isOfThisRun({ pid, command, environment }: Process): boolean {
  if (pid === process.pid || isVitestWorker(command)) return false;
  const marker = `${RUN_VARIABLE}=${process.env[RUN_VARIABLE]}`;
  return environment.includes(marker) || command.includes(runRoot());
}

function isVitestWorker(command: string): boolean {
  return /vitest[^ ]*\/workers\//.test(command) || command.startsWith("node (vitest");
}

function describe({ pid, command }: Process): string {
  const what = /^tmux .*-S/.test(command) ? "tmux server" : "process";
  return `${what} ${pid} (${command.slice(0, 120)})`;
}
