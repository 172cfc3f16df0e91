/** `threadmux run` is left: its terminal is closed, nobody reads it, it is told to end. Its thread ends all the same. */
import type { ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type IPty, spawn as spawnPty } from "node-pty";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { type Fate, startLossyLine } from "../support/lossy-line.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

vi.setConfig({ testTimeout: 90_000 });

let sidecar: TestSidecar;
let cli: Cli;

beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  mkdirSync(join(sidecar.reposDir, "shop"));
  cli = await buildCli(sidecar);
});
afterEach(async () => {
  for (const { threadId } of await sidecar.client.listThreads()) await sidecar.client.killThread(threadId);
});
afterAll(() => sidecar?.close());

const task = (...rounds: Round[]) => ["run", "--agent", "shop", "--", script("go", ...rounds)];
const open = () => sidecar.client.listThreads();
/** Its answer never comes. */
const busy: Round = { waitFor: "/nowhere" };
const asking: Round = { tools: [{ name: "Write", input: { file_path: "f", content: "x" } }] };

/** The program in a terminal of its own; `words` come before it. */
function sit(
  words: string[],
  args: string[],
  env: Record<string, string> = {},
): { pty: IPty; shown: () => string } {
  const [file = "", ...rest] = [...words, process.execPath, cli.file, ...args];
  const pty = spawnPty(file, rest, { name: "xterm", cwd: sidecar.folders.home, env: { ...cli.env, ...env } });
  let shown = "";
  pty.onData((data) => {
    shown += data;
  });
  return { pty, shown: () => shown };
}

function close(pty: IPty): void {
  (pty as unknown as { destroy: () => void }).destroy();
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once("exit", resolve));
}

const untilBusy = () =>
  until("it to work", async () => (await open()).some(({ status, doing }) => status === "running" && doing));
const untilNothingIsOpen = () => until("its thread to end", async () => (await open()).length === 0);

test("if no signal says that its terminal is closed, what an agent asks, or asked, is refused", async () => {
  // In a session of its own the program is not told.
  const go = join(sidecar.folders.home, "go");
  const later = sit(["setsid", "--wait"], task({ ...asking, waitFor: go }, asking, { text: "So be it." }));
  await untilBusy();
  close(later.pty);
  writeFileSync(go, "");
  await untilNothingIsOpen();

  const asked = sit(["setsid", "--wait"], task(asking, asking, { text: "So be it." }));
  await until("the question", () => asked.shown().includes("why not:"));
  close(asked.pty);
  await untilNothingIsOpen();
});

test("what an agent asks once it is to be left is nobody's affair: its thread ends, though the interrupt was lost", async () => {
  const go = join(sidecar.folders.home, "ask");
  const line = await startLossyLine(sidecar.url, (asked) =>
    asked.endsWith("/interrupt") ? "request is lost" : "passes",
  );
  const { pty } = sit([], task({ ...asking, waitFor: go }), { VM_URL: line.url });
  await until("it to work", () => line.asked.some((asked) => asked.includes("/transcript?")));
  close(pty);
  await until("the interrupt", () => line.asked.some((asked) => asked.endsWith("/interrupt")));
  writeFileSync(go, "");
  await untilNothingIsOpen();
  line.close();
});

test("two signals at once, as of `timeout` and npm, are one wish", async () => {
  const child = cli.start(task(busy));
  const ended = exitOf(child);
  await untilBusy();
  child.kill("SIGINT");
  child.kill("SIGTERM");
  expect([130, 143]).toContain(await ended);
  expect(await open()).toEqual([]);
});

test("a terminal may be closed at any moment", async () => {
  let make = () => {};
  const mayBeMade = new Promise<void>((resolve) => {
    make = resolve;
  });
  const line = await startLossyLine(sidecar.url, async (asked) => {
    if (asked === "POST /thread/create") await mayBeMade;
    return "passes" as const;
  });
  const early = sit([], task(busy), { VM_URL: line.url });
  await until("the thread to be asked for", () => line.asked.includes("POST /thread/create"));
  close(early.pty);
  await until("the signal", () => line.asked.some((asked) => asked.endsWith("/interrupt")));
  make();
  await until("its end to be asked for", () => line.asked.some((asked) => asked.endsWith("/kill")));
  await untilNothingIsOpen();
  line.close();

  const asked = sit([], task(asking, busy));
  await until("the question", () => asked.shown().includes("why not:"));
  close(asked.pty);
  await untilNothingIsOpen();

  const wordy = sit([], ["run", "--verbose", ...task({ text: "word ".repeat(2_000), pieceMs: 50 }).slice(1)]);
  await until("it to be told", () => wordy.shown().includes("go"));
  close(wordy.pty);
  await untilNothingIsOpen();
});

test("Ctrl-C once more does not wait for the turn, and ends the thread all the same", async () => {
  const line = await startLossyLine(sidecar.url, (asked) =>
    asked.endsWith("/interrupt") ? "request is lost" : "passes",
  );
  const child = cli.start(task(busy), { env: { VM_URL: line.url } });
  const ended = exitOf(child);
  await untilBusy();
  const from = performance.now();
  child.kill("SIGINT");
  await until("the interrupt", () => line.asked.some((asked) => asked.endsWith("/interrupt")));
  await until("another wish", () => performance.now() - from > 1_000);
  child.kill("SIGINT");
  expect(await ended).toBe(130);
  await untilNothingIsOpen();
  line.close();
});

test("without a sidecar it is said that the thread may be open", async () => {
  let isAway = false;
  const line = await startLossyLine(sidecar.url, () => (isAway ? "request is lost" : "passes"));
  for (const args of [[], ["--json"]]) {
    isAway = false;
    const child = cli.start([...args, ...task(busy)], { env: { VM_URL: line.url } });
    const ended = exitOf(child);
    const said = child.stderr && text(child.stderr);
    await untilBusy();
    const [thread] = await open();
    isAway = true;
    const from = performance.now();
    child.kill("SIGTERM");
    await until("another wish", () => performance.now() - from > 1_000);
    child.kill("SIGTERM");
    expect(await ended).toBe(143);
    expect(await said).toContain(`may be open still; to end it: threadmux kill ${thread?.threadId}`);
    await sidecar.client.killThread(thread?.threadId ?? "");
  }
  line.close();
});

const FAULTY = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent("process.on('SIGUSR2', () => { throw new Error('a fault'); })")}`,
};
/** The thread's end is waited for three seconds, for which a machine may be too busy. */
const ONLY_THE_FAULT = /^threadmux: a fault\n(threadmux: The sidecar takes its time\. .*\n)?$/;

test("a fault of its own ends its thread too", async () => {
  const child = cli.start(task(busy), { env: FAULTY });
  const ended = exitOf(child);
  const said = child.stderr && text(child.stderr);
  await untilBusy();
  child.kill("SIGUSR2");
  expect(await ended).toBe(1);
  expect(await said).toMatch(ONLY_THE_FAULT);
  await untilNothingIsOpen();
});

test("after a fault it says nothing else, however soon it sees that its thread has ended", async () => {
  let kills = 0;
  const line = await startLossyLine(sidecar.url, async (asked): Promise<Fate> => {
    if (!asked.endsWith("/kill") || ++kills > 1) return "passes";
    const [thread] = await open();
    await sidecar.client.killThread(thread?.threadId ?? "");
    // The thread has ended, and its follower may see that, before this request is answered within three seconds.
    const isSeen = () => kills > 1;
    await until("its end to be seen", isSeen, { timeoutMs: 2_000 }).catch(() => undefined);
    return "passes";
  });
  const child = cli.start(task(busy), { env: { ...FAULTY, VM_URL: line.url } });
  const ended = exitOf(child);
  const said = child.stderr && text(child.stderr);
  await until("it to follow", () => line.asked.some((asked) => asked.includes("waitMs")));
  child.kill("SIGUSR2");
  expect(await ended).toBe(1);
  expect(await said).toMatch(ONLY_THE_FAULT);
  await untilNothingIsOpen();
  line.close();
});
