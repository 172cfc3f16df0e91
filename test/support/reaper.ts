/**
 * Ends what a run of tests or of a bench has started, also if the run itself is ended: by Ctrl-C, by SIGTERM, by
 * SIGKILL. It is a process of its own that waits for the end of its standard input, which the run holds open.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { RUN_VARIABLE, runRoot, workersFolder } from "./folders.ts";
import { listProcesses, type Process, signal } from "./processes.ts";
import { until } from "./wait.ts";

/**
 * Names this run in the environment of everything that it starts from here on, and starts the reaper.
 * The reaper goes once nothing of the run is left.
 */
export function beginRun(): void {
  const environment = { ...process.env };
  delete environment[RUN_VARIABLE]; // The reaper must not find itself.
  process.env[RUN_VARIABLE] = randomBytes(3).toString("hex");
  const reaper = spawn(
    process.execPath,
    ["--import", "tsx", fileURLToPath(import.meta.url), process.env[RUN_VARIABLE]],
    { detached: true, env: environment, stdio: ["pipe", "ignore", "inherit"] },
  );
  reaper.unref();
  // The pipe closes when this process ends, however it ends. Programs of the run do not inherit it.
  (reaper.stdin as unknown as { unref: () => void }).unref();
  reaper.stdin.on("error", () => undefined); // A reaper that somebody killed cleans nothing up, and stops no test.
  // Vitest waits at the first Ctrl-C until the tests that run are through, which may be minutes.
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
}

/** Whether the run that the environment names has started this process; its own process and its workers are not. */
export function isOfThisRun(process: Process): boolean {
  return hasMarker(process) && !isVitestWorker(process.command);
}

function hasMarker({ pid, command, environment }: Process): boolean {
  if (pid === process.pid) return false;
  return environment.includes(`${RUN_VARIABLE}=${process.env[RUN_VARIABLE]}`) || command.includes(runRoot());
}

function isVitestWorker(command: string): boolean {
  return /vitest[^ ]*\/workers\//.test(command) || command.startsWith("node (vitest");
}

/** Ends every process of the run, and removes its folders. */
export async function endRun(isOfRun: (process: Process) => boolean = isOfThisRun): Promise<void> {
  // A process that comes to be during a look can be missed by it; the next look finds it.
  let emptyLooks = 0;
  await until("every process of the run to end", () => {
    const left = listProcesses().filter(isOfRun);
    for (const { pid } of left) signal(pid, "SIGKILL");
    emptyLooks = left.length === 0 ? emptyLooks + 1 : 0;
    return emptyLooks === 2;
  });
  for (const folder of [runRoot(), workersFolder()])
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.env[RUN_VARIABLE] = process.argv[2];
  // Workers go on for as long as a test waits in them, also if vitest itself is gone.
  process.stdin.resume();
  process.stdin.once("close", () => void endRun(hasMarker));
}
