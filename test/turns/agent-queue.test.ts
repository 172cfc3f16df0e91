/** Threads that wait far back for a free place: no process of theirs runs, and each has its turn in order. */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { findProcessesOf } from "../support/processes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

vi.setConfig({ testTimeout: 60_000 });

let sidecar: TestSidecar;
beforeEach(async () => {
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, maxAgents: 1 });
});
afterEach(() => sidecar?.close());

const gate = () => join(sidecar.reposDir, "gate");
const processesOf = (threadId: string) => findProcessesOf(join(sidecar.stateDir, "threads", threadId));
const doing = async (threadId: string) => (await sidecar.client.getThread(threadId)).doing;

/** One at work, one that waits with a runner, and others behind it. */
async function openQueue(...ids: string[]): Promise<void> {
  await openAgent(sidecar, "first", script("work", { text: "Done.", waitFor: gate() }));
  await until("the first to work", async () => (await sidecar.client.listSteps("first")).length > 1);
  for (const id of ids) {
    await openAgent(sidecar, id, script("work", { text: `Done ${id}.` }));
    await until(`${id} to wait`, async () => (await sidecar.client.getThread(id)).status === "queued");
  }
  for (const id of ids.slice(1)) await until(`no process of ${id}`, () => processesOf(id).length === 0);
}

test("they keep no process, know how many come before them, and go on in order, over a restart too", async () => {
  await openQueue("a", "b", "c", "d");
  expect(processesOf("a")).not.toEqual([]);
  await until(
    "the last to know",
    async () => (await doing("d")) === "Waiting for a free place (3 before you)",
  );
  const { live, status } = await sidecar.client.readTranscript("d");
  expect([live?.step?.title, status]).toEqual(["Waiting for a free place (3 before you)", "queued"]);
  await sidecar.restart();
  expect(processesOf("c")).toEqual([]);
  await sidecar.client.killThread("b");
  await until("d to move up", async () => (await doing("d")) === "Waiting for a free place (2 before you)");
  writeFileSync(gate(), "");
  for (const id of ["first", "a", "c", "d"]) await untilStatus(sidecar, id, "idle");
  const endOf = async (id: string) =>
    Date.parse((await transcriptOf(sidecar, id)).find(({ type }) => type === "turn_end")?.ts ?? "");
  const ends = [await endOf("a"), await endOf("c"), await endOf("d")];
  expect(ends).toEqual([...ends].sort((x, y) => x - y));
  expect(readdirSync(join(sidecar.stateDir, "places")).filter((name) => name.startsWith("sleep"))).toEqual(
    [],
  );
});

test("one can be stopped, written to, and be told to go on, without anybody before it having ended", async () => {
  await openQueue("a", "b", "c");
  await sidecar.client.controlAgent("c", { control: "interrupt" });
  await until("it to be stopped", async () => (await sidecar.client.getThread("c")).status === "idle");
  expect(await doing("c")).toBeNull();
  await sidecar.client.sendInput("b", { text: script("more", { text: "More." }) });
  await until("it to have read that", async () => {
    const events = await transcriptOf(sidecar, "b");
    return events.filter(({ type }) => type === "user_message").length === 2;
  });
  await until("no process of b", () => processesOf("b").length === 0);
  expect((await sidecar.client.getThread("b")).status).toBe("queued");
  writeFileSync(gate(), "");
  await untilStatus(sidecar, "b", "idle");
  expect(existsSync(join(sidecar.stateDir, "threads", "b", "engine.1.jsonl"))).toBe(true);
});
