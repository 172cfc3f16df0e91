import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import { isTmuxAtLeast } from "../../vm/tmux/protocol.ts";
import { inFull } from "../support/faults.ts";
import { findProcess, signal } from "../support/processes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 1_000 });
});
afterAll(() => sidecar.close());

/** Runs `work` for 1…count, at most `width` at a time. After a failure nothing goes on beside the next test. */
async function inParallel(count: number, width: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(++next);
  };
  const workers = Array.from({ length: width }, () =>
    worker().catch((error: unknown) => {
      next = count;
      throw error;
    }),
  );
  const ends = await Promise.allSettled(workers);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/**
 * Thirty creations at once are much for a tmux that has an eighth of a core. A thread whose creation was refused
 * because tmux did not answer in time is never made, so the creation is asked for again.
 */
async function whenTmuxAnswers<T>(ask: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + 30_000; ; await pause(100)) {
    try {
      return await ask();
    } catch (error) {
      const isAway = error instanceof AppError && error.code === "unavailable";
      if (!isAway || Date.now() > deadline) throw error;
    }
  }
}

/** Keeps every CPU busy, four times over, while `work` runs. */
async function underLoad(work: () => Promise<void>): Promise<void> {
  const hogs = Array.from({ length: 8 }, () =>
    spawn("sh", ["-c", "while :; do :; done"], { stdio: "ignore" }),
  );
  try {
    await work();
  } finally {
    for (const hog of hogs) hog.kill("SIGKILL");
  }
}

const QUICK = inFull(500, 100);

test(`a command that ends at once: output and exit code 3, ${QUICK} times of ${QUICK}`, {
  timeout: 420_000,
}, async () => {
  // A creation that this client did not wait for may be made all the same: asked for again, it would be there already.
  const client = new SidecarClient({ url: sidecar.url, token: sidecar.token, timeoutMs: 60_000 });
  let right = 0;
  await inParallel(QUICK, 30, async (i) => {
    const threadId = `quick-${i}`;
    await whenTmuxAnswers(() => openTerminal(client, threadId, "printf hi; exit 3"));
    const { output, exitCode, signal } = await untilEnded(client, threadId, 30_000);
    expect({ i, output, exitCode, signal }).toEqual({ i, output: "hi", exitCode: 3, signal: null });
    expect((await client.killThread(threadId)).exitCode).toBe(3);
    right += 1;
  });
  expect(right).toBe(QUICK);
});

/** 166,666 numbers of six digits, and `.END`: 1,000,000 bytes. */
const MEGABYTE = "seq 100000 266665 | tr -d '\\n'; printf .END";

async function expectMegabyte(threadId: string): Promise<void> {
  const { client } = sidecar;
  await openTerminal(client, threadId, MEGABYTE);
  const { offset } = await untilEnded(client, threadId, 40_000);
  expect([threadId, offset]).toEqual([threadId, 1_000_000]);
  const log = readFileSync(join(sidecar.stateDir, `logs/${threadId}.log`), "latin1");
  expect([log.slice(0, 12), log.slice(-10)]).toEqual(["100000100001", "266665.END"]);
  await client.killThread(threadId);
}

const [MEGABYTES, UNDER_LOAD] = inFull([40, 12], [8, 4]);

test(`a megabyte and then the end: all of it, ${MEGABYTES} times`, { timeout: 180_000 }, async () => {
  await inParallel(MEGABYTES, 4, (i) => expectMegabyte(`mega-${i}`));
});

test(`the same with every CPU busy four times over, ${UNDER_LOAD} times`, { timeout: 180_000 }, async () => {
  await underLoad(() => inParallel(UNDER_LOAD, 4, (i) => expectMegabyte(`mega-busy-${i}`)));
});

test("a thread does not say that it has ended before its log is complete", async () => {
  const { client, stateDir } = sidecar;
  await openTerminal(client, "late-sink", "echo first; read line; echo second");
  await untilOutput(client, "late-sink", "first\r\n");
  const sink = Number(readFileSync(join(stateDir, "runs/late-sink.sink"), "utf8"));
  signal(sink, "SIGSTOP"); // a disk or a CPU that can't keep up
  await client.sendInput("late-sink", { text: "go" });
  await until("the wrapper's word", () => readFileSync(join(stateDir, "runs/late-sink.1")));
  const { panePid } = await paneOf("late-sink");
  await until("the pane's process to be gone", () => findProcess(panePid) === undefined);
  await openTerminal(client, "meanwhile", "exit 1"); // others don't wait for it
  await untilEnded(client, "meanwhile");
  expect(await client.readOutput("late-sink")).toMatchObject({ output: "first\r\n", processRunning: true });
  signal(sink, "SIGCONT");
  expect((await untilEnded(client, "late-sink")).output).toBe("first\r\ngo\r\nsecond\r\n");
});

async function paneOf(threadId: string): Promise<{ panePid: number }> {
  const pid = await sidecar.folders.tmux("list-panes", "-t", `=thread-${threadId}:`, "-F", "#{pane_pid}");
  return { panePid: Number(pid) };
}

describe.concurrent("how it ended", () => {
  test.each([
    ["true", 0, null],
    ["false", 1, null],
    ["exit 126", 126, null],
    ["exit 127", 127, null],
    ["exit 128", 128, null],
    ["exit 255", 255, null],
    ["no-such-command-here", 127, null],
    ["kill -KILL $$", 137, "SIGKILL"],
    ["kill -TERM $$", 143, "SIGTERM"],
    ["kill -HUP $$", 129, "SIGHUP"],
    ["kill -INT $$", 130, "SIGINT"],
    ["kill -SEGV $$", 139, "SIGSEGV"],
    ["kill -ABRT $$", 134, "SIGABRT"],
    ["kill -PIPE $$", 141, "SIGPIPE"],
    ["exec sleep 0", 0, null],
    ["sleep 1000 & exit 4", 4, null],
    ["setsid sleep 1000 & exit 5", 5, null],
    ["exec 0<&- 1>&- 2>&-; exit 6", 6, null],
    ["tmux kill-server 2>/dev/null; exit 8", 8, null],
  ])("%s", async (command, exitCode, signalName) => {
    const { client } = sidecar;
    const threadId = `end-${Buffer.from(command).toString("hex").slice(0, 28)}`;
    await openTerminal(client, threadId, command);
    const reply = await untilEnded(client, threadId);
    expect([reply.exitCode, reply.signal]).toEqual([exitCode, signalName]);
    expect(reply.output.replace(/^.*no-such-command-here: command not found\r\n$/, "")).toBe("");
    const thread = await client.getThread(threadId);
    expect(thread).toMatchObject({ status: "exited", exitCode, signal: signalName, processRunning: false });
    expect(await client.killThread(threadId)).toMatchObject({ exitCode, survivors: 0 });
    expect(await client.getThread(threadId)).toMatchObject({
      status: "killed",
      exitCode,
      endedAt: thread.endedAt,
    });
  });

  test("a program whose wrapper was killed too", async () => {
    const { client } = sidecar;
    await openTerminal(client, "no-wrapper", "kill -KILL $PPID; exec sleep 1000");
    const { tmux } = await client.getHealth();
    expect(await untilEnded(client, "no-wrapper")).toMatchObject(
      // An older tmux can't tell, and nobody else was there to see it.
      isTmuxAtLeast(tmux.version ?? "", "3.3")
        ? { exitCode: 137, signal: "SIGKILL" }
        : { exitCode: null, signal: null },
    );
    expect(await client.killThread("no-wrapper")).toMatchObject({ survivors: 0 });
  });

  test("a directory that is gone when the program starts is said in plain words", async () => {
    const { client } = sidecar;
    await openTerminal(client, "moved", "mkdir -p sub; cd sub; rmdir ../sub; pwd; sh -c 'echo still here'");
    expect((await untilEnded(client, "moved")).output).toContain("still here");
  });

  test("after it all the log is what it was", async () => {
    const { client } = sidecar;
    await openTerminal(client, "stays", "printf '%s' text; exit 2");
    const { offset } = await untilEnded(client, "stays");
    await client.killThread("stays");
    expect(await readAll(client, "stays")).toMatchObject({
      output: "text",
      offset,
      exitCode: 2,
      processRunning: false,
    });
  });
});
