/** What may happen to an agent thread beside kills: damaged and removed files, a held database, tmux away, wrong wishes. */
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { threadPath } from "../../shared/agent/paths.ts";
import type { CreateRequest } from "../../shared/api.ts";
import { folderOf, processesOf } from "../support/agent-siege.ts";
import { openAgent, STAND_IN_CONFIG, script, standIn, untilStatus, wordsOf } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeEach(async () => {
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, agent: standIn({ idleSeconds: 1 }) });
});
afterEach(() => sidecar?.close());

const untilGone = (threadId: string) =>
  until("the runner to be gone", async () => !(await sidecar.client.getThread(threadId)).processRunning);
const openRested = async (threadId: string) => {
  await openAgent(sidecar, threadId, script("Hello", { text: "One." }));
  await untilStatus(sidecar, threadId, "idle");
  await untilGone(threadId);
};
const say = (threadId: string, text: string) =>
  sidecar.client.sendInput(threadId, { text: script("And?", { text }) });
const untilSaid = (threadId: string, text: string) =>
  until(text, async () => (await wordsOf(sidecar, threadId)).at(-1) === text);
const database = () => new Sqlite(join(sidecar.stateDir, "threadmux.db"));

describe("what is not held to is refused at creation, by the field's name", () => {
  test.each<[string, CreateRequest["agent"]]>([
    ["agent.program", { engine: "command" }],
    ["agent.params.callSeconds", { params: { callSeconds: 100 } }],
    ["agent.params.temperature", { params: { temperature: 1 } }],
    ["agent.outputSchema", { engine: "demo", outputSchema: { type: "object" } }],
    ["agent.parentThreadId", { parentThreadId: "1" }],
  ])("%s", async (field, agent) => {
    const request = {
      threadId: "x",
      type: "agent" as const,
      dir: ".",
      command: "hi",
      agent,
    };
    const refused = await refusal(sidecar.client.createThread(request));
    expect(refused).toMatchObject({ code: "unsupported" });
    expect(refused.message.startsWith(`${field}: `)).toBe(true);
    expect(await sidecar.client.listThreads({ status: "all" })).toEqual([]);
  });
});

test("a schema that no engine could be given is refused, and nothing of the thread is made", async () => {
  const outputSchema = { $ref: "http://127.0.0.1:1/schema.json" };
  const request = { threadId: "x", type: "agent" as const, dir: ".", command: "hi" };
  const refused = await refusal(sidecar.client.createThread({ ...request, agent: { outputSchema } }));
  expect(refused.code).toBe("invalid_request");
  expect(refused.message).toMatch(/^agent\.outputSchema: /);
  expect(await sidecar.client.listThreads({ status: "all" })).toEqual([]);
});

test("a single thread takes no second message", async () => {
  const { client } = sidecar;
  const command = script("Hello", { text: "One." });
  const agent = { mode: "single" as const };
  await client.createThread({ threadId: "one", type: "agent", dir: ".", command, agent });
  expect(await refusal(say("one", "Two."))).toMatchObject({ code: "thread_single" });
  await untilSaid("one", "One.");
  expect(await refusal(say("one", "Two."))).toMatchObject({ code: "thread_single" });
  await client.branchThread("one", { threadId: "one-more" });
  await say("one-more", "Its one answer.");
  await untilSaid("one-more", "Its one answer.");
  expect(await refusal(say("one-more", "Two."))).toMatchObject({ code: "thread_single" });
});

test("a runner that ends at once is started three times; mended, the next message goes on", async () => {
  await openRested("mad");
  const config = threadPath(folderOf(sidecar, "mad"), "config");
  const whole = readFileSync(config);
  writeFileSync(config, "no JSON");
  await say("mad", "Two.");
  const thread = await until("it to give up", async () => {
    const now = await sidecar.client.getThread("mad");
    return now.status === "failed" && now;
  });
  expect(thread.problem).toMatch(/^The agent's runner ended 3 times/);
  expect(thread.waiting).toBe(1);
  await untilGone("mad");
  writeFileSync(config, whole);
  await sidecar.client.controlAgent("mad", { control: "resume" });
  await untilSaid("mad", "Two.");
  expect(await untilStatus(sidecar, "mad", "idle")).toMatchObject({ problem: null });
});

test.each(["killed", "stopped"])(
  "a message that comes while tmux is %s is answered without anybody's doing",
  async (how) => {
    await openRested("away");
    const pid = sidecar.folders.tmuxPid();
    process.kill(pid, how === "killed" ? "SIGKILL" : "SIGSTOP");
    await say("away", "Two.");
    if (how === "stopped") {
      expect(await sidecar.client.getThread("away")).toMatchObject({ status: "running" });
      process.kill(pid, "SIGCONT");
    }
    await untilSaid("away", "Two.");
  },
);

test("a folder that is removed in a turn: no process is left, and the thread says why it failed", async () => {
  await openAgent(
    sidecar,
    "gone",
    script("Sleep", { tools: [{ name: "Bash", input: { command: "sleep 1000" } }] }),
  );
  const folder = folderOf(sidecar, "gone");
  const ask = await until("an ask", async () => (await sidecar.client.listAsks("gone"))[0]);
  await sidecar.client.answerAsk("gone", ask.requestId, { optionId: "once" });
  await until("the call to run", () => processesOf(folder).some((process) => process.includes("sleep 1000")));
  // Gone at once: its runner writes into it meanwhile.
  renameSync(folder, `${folder}.gone`);
  rmSync(`${folder}.gone`, { recursive: true, maxRetries: 10 });
  await until("no process to be left", () => processesOf(folder).length === 0);
  expect(await sidecar.client.getThread("gone")).toMatchObject({
    status: "failed",
    problem: expect.stringContaining("The folder of thread gone is gone from the VM"),
  });
  await sidecar.client.killThread("gone");
});

test.each(["transcript", "inbox"] as const)(
  "foreign and torn lines in the %s: the rest goes on",
  async (file) => {
    await openRested("foreign");
    const folder = folderOf(sidecar, "foreign");
    appendFileSync(threadPath(folder, file), `{"op":"nothing"}\n${"x".repeat(2 * 1024 * 1024)}\n{"torn`);
    const transcript = () => readFileSync(threadPath(folder, "transcript"), "utf8");
    for (const text of ["Two.", "Three."]) {
      await say("foreign", text);
      await until(text, () => transcript().includes(`"text":"${text}"`));
      await untilStatus(sidecar, "foreign", "idle");
      await untilGone("foreign");
    }
    const notices = transcript().match(/"type":"notice"[^\n]*skipped/g);
    expect(notices).toHaveLength(file === "inbox" ? 3 : 1);
  },
);

test("rows that are lost are made again from the transcript, with the ask that is open", async () => {
  await openAgent(
    sidecar,
    "rows",
    script("Do", { tools: [{ name: "Bash", input: { command: "touch done" } }] }),
  );
  const ask = await until("an ask", async () => (await sidecar.client.listAsks("rows"))[0]);
  const steps = await sidecar.client.listSteps("rows");
  await sidecar.stop();
  const db = database();
  db.exec("DELETE FROM steps; DELETE FROM asks");
  db.close();
  await sidecar.restart();
  expect(await until("the ask", async () => (await sidecar.client.listAsks("rows"))[0])).toEqual(ask);
  expect((await sidecar.client.listSteps("rows")).slice(0, steps.length)).toEqual(steps);
  await sidecar.client.answerAsk("rows", ask.requestId, { optionId: "once" });
  await untilStatus(sidecar, "rows", "idle");
});

test("a database that another process holds for a while: what happened meanwhile is stored", async () => {
  const go = join(sidecar.folders.path, "go");
  await openAgent(sidecar, "held", script("Hello", { text: "A text that comes in pieces.", pauseFor: go }));
  await until("a turn", async () => (await sidecar.client.listSteps("held")).length > 0);
  const db = database();
  db.exec("BEGIN IMMEDIATE");
  try {
    writeFileSync(go, "");
    const transcript = threadPath(folderOf(sidecar, "held"), "transcript");
    await until("the turn's end", () => readFileSync(transcript, "utf8").includes('"turn_end"'));
    await until("the runner's end", () => processesOf(folderOf(sidecar, "held")).length === 0);
  } finally {
    db.exec("ROLLBACK");
    db.close();
  }
  await untilStatus(sidecar, "held", "idle");
  await untilGone("held");
  await say("held", "Two.");
  await untilSaid("held", "Two.");
});
