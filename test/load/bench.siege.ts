/** The benches run, in their short form: it measures nothing worth judging, but every text must be right. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const TIMEOUT_MS = 300_000;

/** Throws where the bench fails, which is where a text is wrong. */
async function smoke(bench: string): Promise<string> {
  const file = fileURLToPath(new URL(`../../bench/${bench}.ts`, import.meta.url));
  const { stdout } = await run(process.execPath, ["--import", "tsx", file, "--smoke"], {
    timeout: TIMEOUT_MS,
  });
  return stdout;
}

test.each([
  ["sidecar", 14],
  ["relay", 38],
  ["agents", 10],
])("%s: every figure of its short form is there", { timeout: TIMEOUT_MS }, async (bench, figures) => {
  const stdout = await smoke(bench);
  const rows = stdout.split("\n").filter((line) => / {2,}\d+(\.\d+)? /.test(line));
  expect(rows.length, stdout).toBeGreaterThanOrEqual(figures);
});
