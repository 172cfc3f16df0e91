/** A run of tests that is interrupted leaves no process, tmux server or folder behind. The benches begin their runs alike. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { makeFolder, RUN_VARIABLE } from "../support/folders.ts";
import { isAlive, listProcesses } from "../support/processes.ts";
import { until } from "../support/wait.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test.each([
  ["Ctrl-C", "SIGINT", "group"],
  ["SIGKILL", "SIGKILL", "vitest"],
] as const)("nothing is left after %s", async (_what, name, whom) => {
  const { path, remove } = makeFolder();
  const file = join(path, "run");
  const run = spawn(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", "run", "--config", "test/fixtures/interrupted/vitest.config.ts"],
    { cwd: root, detached: true, stdio: "ignore", env: { ...process.env, STAYS_FILE: file } },
  );
  const pid = run.pid ?? 0;
  expect(pid).toBeGreaterThan(1);
  const id = await until("the run's name", () => existsSync(file) && readFileSync(file, "utf8"));
  const left = () =>
    listProcesses().filter(({ environment }) => environment.includes(`${RUN_VARIABLE}=${id}`));
  expect(left().some(({ command }) => command.startsWith("tmux"))).toBe(true);
  process.kill(whom === "group" ? -pid : pid, name);
  await until("the run to end", () => !isAlive(pid));
  await until("its processes to end", () => left().length === 0);
  await until("its folder to go", () => !existsSync(join(tmpdir(), `tmx-${id}`)));
  remove();
});
