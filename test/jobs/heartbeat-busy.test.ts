/** A heartbeat that is due while its thread is at work: none of its messages waits there, and each tick is counted. */
import { readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import {
  openAgent,
  STAND_IN,
  STAND_IN_CONFIG,
  script,
  transcriptOf,
  untilStatus,
} from "../support/agents.ts";
import { inFull } from "../support/faults.ts";
import { MINUTE, makeClock } from "../support/jobs.ts";
import { findProcessesOf, signal } from "../support/processes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until, untilValue } from "../support/wait.ts";

const TICKS = inFull(60, 3);
const clock = makeClock();
let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG, { now: clock.now });
});
afterAll(() => sidecar.close());

type End = () => Promise<void> | void;

const gateOf = (thread: string) => join(sidecar.reposDir, `gate-${thread}`);
const open = (thread: string) => () => writeFileSync(gateOf(thread), "");
const send = (thread: string, ...rounds: Parameters<typeof script>[1][]) =>
  sidecar.client.sendInput(thread, { text: script("work", ...rounds) });

/** Each puts a thread to work, and resolves with what ends that. */
const WORK: Record<string, (thread: string) => Promise<End>> = {
  "a turn": async (thread) => {
    await send(thread, { text: "done", waitFor: gateOf(thread) });
    await untilStatus(sidecar, thread, "running");
    return open(thread);
  },
  "an ask": async (thread) => {
    await send(thread, { tools: [{ name: "Bash", input: { command: "touch x" } }] }, { text: "done" });
    await untilStatus(sidecar, thread, "waiting");
    return async () => {
      const [ask] = await sidecar.client.listAsks(thread);
      await sidecar.client.answerAsk(thread, ask?.requestId ?? "", { optionId: "no" });
    };
  },
  "a compaction": async (thread) => {
    // The engine stands still in it.
    const dir = join(sidecar.reposDir, thread);
    const pid = findProcessesOf(sidecar.folders.path).find(
      ({ pid, command }) => command.includes(STAND_IN) && readlinkSync(`/proc/${pid}/cwd`) === dir,
    )?.pid;
    signal(pid, "SIGSTOP");
    await sidecar.client.controlAgent(thread, { control: "compact" });
    await untilStatus(sidecar, thread, "running");
    return () => signal(pid, "SIGCONT");
  },
  "a child's wait": async (thread) => {
    const prompt = script("help", { text: "helped", waitFor: gateOf(thread) });
    const input = { prompt, mode: "await", title: "a part" };
    await send(thread, { tools: [{ name: "mcp__threadmux__spawn_thread", input }] }, { text: "done" });
    await until("the child", async () =>
      (await sidecar.client.listThreads()).some(({ threadId }) => threadId.startsWith("child-")),
    );
    return open(thread);
  },
};

test.each(Object.keys(WORK))("during %s none is queued, and each tick has its row", async (work) => {
  const thread = work.replace(/\W+/g, "-");
  const beat = `beat-${thread}`;
  await openAgent(sidecar, thread, script("go", { text: "ok" }));
  writeFileSync(join(sidecar.reposDir, thread, "HEARTBEAT.md"), "- is all well?\n");
  await untilStatus(sidecar, thread, "idle");
  const jobs = new VmJobs(sidecar.client);
  const what = { type: "input", threadId: thread, text: script("how is it?", { text: "well" }) } as const;
  await jobs.create({
    ...{ name: beat, when: { type: "every", seconds: 60 }, what, heartbeat: true, idleOnly: true },
  });
  const inputs = async () =>
    (await transcriptOf(sidecar, thread)).filter(
      (event) => event.type === "user_message" && event.source === `job:${beat}`,
    );
  const end = await WORK[work]?.(thread);
  for (let tick = 0; tick < TICKS; tick++) await clock.pass(sidecar.client, MINUTE);
  const runs = await jobs.listRuns(beat, 100);
  expect(runs.map(({ status, reason }) => `${status} ${reason}`)).toEqual(
    Array(TICKS).fill("skipped busy: its thread has a turn"),
  );
  expect((await sidecar.client.getThread(thread)).waiting).toBe(0);
  expect(await inputs()).toEqual([]);
  await end?.();
  await untilStatus(sidecar, thread, "idle");
  expect(await inputs()).toEqual([]);
  // The first tick of an idle thread goes in.
  await clock.pass(sidecar.client, MINUTE);
  await untilValue(
    "its run",
    () => jobs.listRuns(beat, 1),
    ([run]) => run?.status === "done",
  );
  expect(await inputs()).toHaveLength(1);
  await jobs.remove(beat);
});
