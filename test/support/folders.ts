/** Temporary folders below one root a run, which the leak check finds empty at the end. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** In the environment of everything that the tests start; its value names the run. */
export const RUN_VARIABLE = "THREADMUX_TEST";

export function runId(): string {
  const id = process.env[RUN_VARIABLE];
  if (!id) throw new Error("test/support/leaks.ts has not run: is it in vitest's globalSetup?");
  return id;
}

/** Short, since the path of a tmux socket below it must fit in 108 bytes. */
export function runRoot(): string {
  return join(tmpdir(), `tmx-${runId()}`);
}

/** Holds a file for each worker that runs a test file: not below the root, which the leak check finds empty. */
export function workersFolder(): string {
  return `${runRoot()}-workers`;
}

export function makeFolder(): { path: string; remove: () => void } {
  mkdirSync(runRoot(), { recursive: true, mode: 0o700 });
  const path = mkdtempSync(join(runRoot(), "t"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}
