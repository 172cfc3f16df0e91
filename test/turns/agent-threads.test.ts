/** Agent threads from outside: the sidecar's API, a real tmux, a real runner, the stand-in as the agent. */
import { existsSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ENGINE_FOLDER_MARKER } from "../../shared/agent/markers.ts";
import {
  openAgent,
  STAND_IN_CONFIG,
  script,
  standIn,
  transcriptOf,
  untilStatus,
  wordsOf,
} from "../support/agents.ts";
import { listProcesses, signal } from "../support/processes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });
const openAsk = (threadId: string) =>
  until(`an ask of ${threadId}`, async () => (await sidecar.client.listAsks(threadId))[0]);

test("a conversation: each message is answered once, and the pane shows the agent at work", async () => {
  await openAgent(sidecar, "talk", script("Hello", { text: "Hello to you." }));
  await untilStatus(sidecar, "talk", "idle");
  await sidecar.client.sendInput("talk", { text: script("And?", { text: "That is all." }), inputId: "m2" });
  const again = await sidecar.client.sendInput("talk", { text: "not this", inputId: "m2" });
  expect(again).toEqual({ sent: true, duplicate: true });
  await until("the second answer", async () => (await wordsOf(sidecar, "talk")).length === 2);
  expect(await wordsOf(sidecar, "talk")).toEqual(["Hello to you.", "That is all."]);
  const thread = await untilStatus(sidecar, "talk", "idle");
  expect(thread).toMatchObject({ type: "agent", number: expect.any(Number), awaiting: null });
  await untilOutput(sidecar.client, "talk", "That is all.");
  const events = await transcriptOf(sidecar, "talk");
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
});

describe("an ask", () => {
  test("is answered once: what was allowed has happened, what was denied has not", async () => {
    await openAgent(sidecar, "asks", script("Do it", bash("touch done"), { text: "Done." }));
    const ask = await openAsk("asks");
    expect(await sidecar.client.getThread("asks")).toMatchObject({
      status: "waiting",
      awaiting: "permission",
    });
    expect(ask.call?.rawInput).toMatchObject({ command: "touch done" });
    const allow = { optionId: "once" };
    const [first, second] = await Promise.allSettled([
      sidecar.client.answerAsk("asks", ask.requestId, allow),
      sidecar.client.answerAsk("asks", ask.requestId, allow),
    ]);
    expect(first.status).toBe("fulfilled");
    expect(second).toMatchObject({ status: "rejected", reason: { code: "already_answered" } });
    await untilStatus(sidecar, "asks", "idle");
    expect(existsSync(join(sidecar.reposDir, "asks", "done"))).toBe(true);
    expect(await refusal(sidecar.client.answerAsk("asks", ask.requestId, allow))).toMatchObject({
      code: "already_answered",
    });

    await sidecar.client.sendInput("asks", { text: script("Again", bash("touch other"), { text: "Oh." }) });
    const { requestId } = await openAsk("asks");
    await sidecar.client.answerAsk("asks", requestId, {
      optionId: "no",
      message: "not now",
    });
    await untilStatus(sidecar, "asks", "idle");
    expect(existsSync(join(sidecar.reposDir, "asks", "other"))).toBe(false);
    const steps = await sidecar.client.listSteps("asks");
    expect(steps.filter(({ kind }) => kind === "tool").map(({ status }) => status)).toEqual([
      "completed",
      "failed",
    ]);
  });

  test("is answered by the request that it had before the agent was killed", async () => {
    await openAgent(sidecar, "anew", script("Do it", bash("touch done"), { text: "Done." }));
    const before = await openAsk("anew");
    const marker = `${ENGINE_FOLDER_MARKER}=${sidecar.stateDir}/threads/anew`;
    for (const { pid, environment } of listProcesses())
      if (environment.includes(marker)) signal(pid, "SIGKILL");
    await until("the ask to be parked", async () => !(await sidecar.client.getThread("anew")).processRunning);
    await sidecar.client.sendInput("anew", { text: "are you there?" });
    const after = await until("the ask to be asked again", async () =>
      (await sidecar.client.listAsks("anew")).find(({ requestId }) => requestId !== before.requestId),
    );
    expect(after.request.replaces).toBe(before.requestId);
    await sidecar.client.answerAsk("anew", before.requestId, { optionId: "once" });
    await untilStatus(sidecar, "anew", "idle");
    expect(existsSync(join(sidecar.reposDir, "anew", "done"))).toBe(true);
  });

  test("is refused an answer that does not fit it", async () => {
    await openAgent(sidecar, "unfit", script("Do it", bash("touch x")));
    const { requestId } = await openAsk("unfit");
    const answer = (id: string, body: Parameters<typeof sidecar.client.answerAsk>[2]) =>
      refusal(sidecar.client.answerAsk("unfit", id, body));
    expect(await answer(requestId, { optionId: "maybe" })).toMatchObject({
      code: "invalid_request",
      message: expect.stringMatching(/^optionId: must be one of /),
    });
    expect(await answer(requestId, { action: "decline" })).toMatchObject({
      code: "invalid_request",
    });
    expect(await answer("nobody's", { optionId: "once" })).toMatchObject({
      code: "not_found",
    });
    await sidecar.client.killThread("unfit");
    expect(await answer(requestId, { optionId: "once" })).toMatchObject({
      code: "thread_ended",
    });
    expect(await sidecar.client.listAsks("unfit")).toEqual([]);
  });
});

test("an agent that has nothing to do keeps no process, and the next message finds its conversation", async () => {
  const idle = await startSidecar({ ...STAND_IN_CONFIG, agent: standIn({ idleSeconds: 1 }) });
  try {
    await openAgent(idle, "rest", script("Hello", { text: "One." }));
    await untilStatus(idle, "rest", "idle");
    await until("no runner", async () => !(await idle.client.getThread("rest")).processRunning);
    await idle.client.sendInput("rest", { text: script("Again", { text: "Two." }) });
    await until("an answer", async () => (await wordsOf(idle, "rest")).length === 2);
    const starts = (await transcriptOf(idle, "rest")).filter((event) => event.type === "engine_start");
    expect(starts.map((event) => event.type === "engine_start" && [event.generation, event.resumed])).toEqual(
      [
        [1, false],
        [2, true],
      ],
    );
  } finally {
    await idle.close();
  }
});

test("a kill ends everything, and what was open is closed in the transcript", async () => {
  await openAgent(sidecar, "kill", script("Sleep", bash("sleep 1000")));
  const { requestId } = await openAsk("kill");
  await sidecar.client.answerAsk("kill", requestId, { optionId: "once" });
  await until("the call to run", async () => (await sidecar.client.getThread("kill")).status === "running");
  expect(await sidecar.client.killThread("kill")).toMatchObject({ killed: true, survivors: 0 });
  expect(await sidecar.client.getThread("kill")).toMatchObject({ status: "killed" });
  const events = await transcriptOf(sidecar, "kill");
  expect(events.find(({ type }) => type === "control")).toMatchObject({ op: "kill", by: "owner" });
  const ends = events
    .filter(({ type }) => type === "turn_end" || type === "engine_end")
    .map(({ type }) => type);
  expect(ends.sort()).toEqual(["engine_end", "turn_end"]);
  expect(await refusal(sidecar.client.sendInput("kill", { text: "more" }))).toMatchObject({
    code: "thread_ended",
  });
});

test("a sidecar that is started again goes on where it was: no message lost, none twice", async () => {
  await openAgent(sidecar, "again", script("Work", bash("sleep 1; echo worked >> log"), { text: "Worked." }));
  const { requestId } = await openAsk("again");
  await sidecar.restart();
  expect((await openAsk("again")).requestId).toBe(requestId);
  await sidecar.client.answerAsk("again", requestId, { optionId: "once" });
  await sidecar.restart();
  await untilStatus(sidecar, "again", "idle");
  expect(await wordsOf(sidecar, "again")).toEqual(["Worked."]);
  expect(readFileSync(join(sidecar.reposDir, "again", "log"), "utf8")).toBe("worked\n");
});

test("bad input is refused in words", async () => {
  const { client } = sidecar;
  expect(await refusal(client.sendInput("talk", { key: "C-c" }))).toMatchObject({ code: "invalid_request" });
  expect(await refusal(client.sendInput("talk", { text: "  " }))).toMatchObject({
    code: "invalid_request",
    message: "text: must not be empty for an agent.",
  });
  const missing = await startSidecar({ agent: { ...standIn(), program: "no-such-agent" } });
  try {
    expect(await refusal(openAgent(missing, "x", "hi"))).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/npm install -g .*@anthropic-ai\/claude-code@2\.1\.330/),
    });
    expect(await missing.client.listThreads({ status: "all" })).toEqual([]);
  } finally {
    await missing.close();
  }
});

test("a folder that is removed under a thread is said, and a new thread of that id begins anew", async () => {
  await openAgent(sidecar, "gone", script("Hi", { text: "Hi." }));
  await untilStatus(sidecar, "gone", "idle");
  // Gone at once: its runner writes into it meanwhile.
  const folder = join(sidecar.stateDir, "threads", "gone");
  renameSync(folder, join(sidecar.folders.path, "gone"));
  expect(await refusal(sidecar.client.sendInput("gone", { text: "still there?" }))).toMatchObject({
    code: "thread_ended",
    message: expect.stringContaining("The folder of thread gone is gone from the VM"),
  });
  await sidecar.client.killThread("gone");
  await openAgent(sidecar, "gone", script("Hi", { text: "Anew." }));
  await until("an answer", async () => (await wordsOf(sidecar, "gone")).join() === "Anew.");
});

// Promise: S8
test.each([
  ["shell words", "$HOME $(touch pwned) `touch pwned`; touch pwned & | > x < y * ? {a,b} ~ !!"],
  ["tmux words", "#{pane_id} #(touch pwned) %H #S ##;"],
  ["quotes and lines", "first \"double\" 'single' \\ \\n\n\n  second\t\u001b[31m é 🙂"],
  ["an option", "--resume"],
])("a prompt of %s reaches the agent as it is, and nothing else", async (name, prompt) => {
  const threadId = `as-is-${name.replaceAll(" ", "-")}`;
  await openAgent(sidecar, threadId, prompt);
  await until("the prompt", async () =>
    (await transcriptOf(sidecar, threadId)).some(({ type }) => type === "delivery"),
  );
  const message = (await transcriptOf(sidecar, threadId)).find(({ type }) => type === "user_message");
  expect(message).toMatchObject({ content: [{ type: "text", text: prompt }] });
  await until("the agent to have it", () =>
    sessionsIn(sidecar.folders.home).some((text) => text.includes(JSON.stringify(prompt))),
  );
  expect(existsSync(join(sidecar.reposDir, threadId, "pwned"))).toBe(false);
  await sidecar.client.killThread(threadId);
});

/** The conversations as the agent's program keeps them. */
function sessionsIn(home: string): string[] {
  const root = join(home, ".claude", "projects");
  if (!existsSync(root)) return [];
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".jsonl"),
  );
  return files.map((name) => readFileSync(join(root, name), "utf8"));
}

// Promise: S13
test("an agent and what it starts see neither the token nor the sidecar's variables", async () => {
  const command = "env > env.txt; cat /proc/$PPID/environ | tr '\\0' '\\n' >> env.txt";
  await openAgent(sidecar, "secrets", script("Look", bash(command), { text: "Seen." }));
  const { requestId } = await openAsk("secrets");
  await sidecar.client.answerAsk("secrets", requestId, { optionId: "once" });
  await untilStatus(sidecar, "secrets", "idle");
  const seen = readFileSync(join(sidecar.reposDir, "secrets", "env.txt"), "utf8");
  expect(seen).toContain("PATH=");
  expect(seen).not.toContain(sidecar.token);
  expect(seen).not.toMatch(/^(VM_TOKEN|TMUX|TMUX_PANE|THREADMUX_RUNNER)=/m);
});
