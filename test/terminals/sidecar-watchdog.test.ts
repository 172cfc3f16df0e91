/** No program keeps tmux from all other threads for long; none that only prints much is touched. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findCpuMs } from "../../vm/processes/processes.ts";
import { spawnSidecar, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const LARGE = { cols: 500, rows: 200 };
const MINUTE_MS = 60_000;
const SCREENS = "\x1b#8".repeat(30_000);

let sidecar: TestSidecar;

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 20 });
  // The dearest there is: each fills the screen.
  writeFileSync(join(sidecar.reposDir, "fill"), SCREENS);
});
afterAll(() => sidecar.close());

const FILL = "echo ready; read -r; while :; do cat fill; done";

// Promise: R6, S21
test("a program that does nothing but fill a large screen gets a small one, for ten minutes", {
  timeout: 120_000,
}, async () => {
  const { client } = sidecar;
  // Innocent, large, and it prints all the while.
  await openTerminal(client, "bystander", "while :; do echo $((i++)); sleep 0.05; done", LARGE);
  await openTerminal(client, "filler", FILL, LARGE);
  await untilOutput(client, "filler", "ready");
  expect(await client.getThread("filler")).toMatchObject({ ...LARGE, heldSmallUntil: null });
  await client.sendInput("filler", { text: "" });

  const isSmall = async () => (await client.getThread("filler")).heldSmallUntil !== null;
  await until("it to be small", isSmall, { timeoutMs: 90_000 });
  const thread = await client.getThread("filler");
  expect(thread).toMatchObject({ cols: 120, rows: 40, processRunning: true });
  const heldForMs = Date.parse(thread.heldSmallUntil ?? "") - Date.now();
  expect(heldForMs).toBeGreaterThan(9 * MINUTE_MS);
  expect(heldForMs).toBeLessThanOrEqual(10 * MINUTE_MS);
  expect(
    await sidecar.folders.tmux(
      "display-message",
      "-p",
      "-t",
      "=thread-filler:",
      "#{pane_width}x#{pane_height}",
    ),
  ).toBe("120x40\n");
  expect(await client.getThread("bystander")).toMatchObject({ ...LARGE, heldSmallUntil: null });

  const refused = {
    code: "rate_limited",
    message: expect.stringMatching(/filler.*all threads waiting.*(9|10) more minutes/),
  };
  await expect(client.resizeThread("filler", LARGE)).rejects.toMatchObject(refused);
  await client.resizeThread("filler", { cols: 100, rows: 48 });
  await sidecar.restart();
  await expect(client.resizeThread("filler", { cols: 101, rows: 48 })).rejects.toMatchObject(refused);
  for (const id of ["filler", "bystander"]) await client.killThread(id);
});

test("a sidecar that starts beside a program that fills a large screen is connected, and makes it small", {
  timeout: 180_000,
}, async ({ onTestFinished }) => {
  const other = await spawnSidecar();
  onTestFinished(() => other.close());
  const { client } = other;
  writeFileSync(join(other.reposDir, "fill"), SCREENS);
  await openTerminal(client, "filler", FILL, LARGE);
  await untilOutput(client, "filler", "ready");
  const tmuxPid = other.folders.tmuxPid();
  const before = findCpuMs(tmuxPid) ?? 0;
  await client.sendInput("filler", { text: "" });
  await other.kill9();
  await until("tmux to be kept busy", () => (findCpuMs(tmuxPid) ?? 0) - before > 1_500);
  await other.start();
  const isUp = async () => (await client.getHealth()).tmux.up;
  await until("tmux to be connected", isUp, { timeoutMs: 120_000 });
  const isSmall = async () => (await client.getThread("filler")).heldSmallUntil !== null;
  await until("it to be small", isSmall, { timeoutMs: 30_000 });
});

// Promise: S21
test("what prints much on a large screen keeps it, however busy tmux is", {
  timeout: 120_000,
}, async () => {
  const { client } = sidecar;
  const programs = {
    flood: "yes",
    numbers: "seq 1 1000000000",
    colours: `while :; do printf '\\033[H'; for i in {1..199}; do printf '\\033[%d;1H\\033[3%dm%0480d' $i $((i % 8)) $((n++)); done; done`,
    clear: "while :; do printf '\\033[H\\033[2J'; date; done",
  };
  for (const [id, command] of Object.entries(programs)) await openTerminal(client, id, command, LARGE);
  const cpuMs = () => findCpuMs(sidecar.folders.tmuxPid()) ?? 0;
  const before = cpuMs();
  await until("tmux to have worked hard", () => cpuMs() - before > 4_000, { timeoutMs: 90_000 });
  for (const id of Object.keys(programs)) {
    expect(await client.getThread(id)).toMatchObject({ ...LARGE, heldSmallUntil: null });
    await client.killThread(id);
  }
});
