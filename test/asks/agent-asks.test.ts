/** Asks of agent threads: permissions, questions, plans; parked, asked again, refused. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { type AgentThread, bash, openThreads, says, type ThreadOptions } from "../support/agent-threads.ts";
import { signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

const open = openThreads();

async function openAsk(options: ThreadOptions = {}): Promise<{ thread: AgentThread; requestId: string }> {
  const thread = open(options);
  thread.write(says("make", { text: "Making.", tools: [bash("mkdir made")] }, { text: "made it" }));
  thread.start();
  const { requestId } = await thread.event("permission_request");
  return { thread, requestId };
}

const isMade = (thread: AgentThread) => existsSync(join(thread.dir, "made"));

function killEngine(thread: AgentThread): void {
  signal(thread.enginePid(), "SIGKILL");
}

test("denied with a reason: the call does not run, and the reason reaches the model", async () => {
  const { thread, requestId } = await openAsk();
  thread.answer(requestId, "no", "use another folder");
  await thread.event("turn_end");
  expect(isMade(thread)).toBe(false);
  expect(thread.of("tool_call_update").at(-1)).toMatchObject({ status: "failed" });
  expect(JSON.stringify(thread.of("tool_call_update").at(-1))).toContain("use another folder");
});

test("allowed for the thread: the rule holds over the engine's next start", async () => {
  const { thread, requestId } = await openAsk({ timeouts: { idleSeconds: 1 } });
  thread.answer(requestId, "thread");
  await thread.event("turn_end");
  expect(thread.fold().grantedRules).toHaveLength(1);
  await thread.ended();
  // The rule is `mkdir made *`: this call falls under it.
  thread.write(says("again", { tools: [bash("mkdir made other")] }, { text: "ok" }));
  thread.start();
  await until("the second turn", () => thread.of("turn_end").length === 2 || thread.fold().asks.length > 0);
  expect(thread.of("engine_start")[1]?.resumed).toBe(true);
  expect(thread.of("permission_request")).toHaveLength(1);
  expect(existsSync(join(thread.dir, "other"))).toBe(true);
  expect(JSON.parse(readFileSync(threadPath(thread.folder, "state"), "utf8")).grantedRules).toEqual([
    "Bash(mkdir made *)",
  ]);
});

test("an answer to an ask that is answered, or to none, is told and counts for nothing", async () => {
  const { thread, requestId } = await openAsk();
  thread.answer("nobody-asked", "once");
  thread.answer(requestId, "perhaps");
  thread.answer(requestId, "once");
  thread.answer(requestId, "no");
  await thread.event("turn_end");
  await thread.event("notice", 3);
  expect(isMade(thread)).toBe(true);
  expect(thread.of("permission_response")).toHaveLength(1);
});

test("the runner dies while an ask is open: the next one takes the answer to the same engine", async () => {
  const { thread, requestId } = await openAsk();
  thread.killRunner();
  await thread.runnerDied();
  thread.answer(requestId, "once");
  thread.start();
  await thread.event("turn_end");
  expect(isMade(thread)).toBe(true);
  expect(thread.of("engine_start")).toHaveLength(1);
  expect(thread.of("permission_request")).toHaveLength(1);
});

test("the engine dies while an ask is open: parked, and its answer takes the turn up without a second question", async () => {
  const { thread, requestId } = await openAsk();
  killEngine(thread);
  expect(await thread.ended()).toBe(0);
  expect(statusOf(thread.fold())).toBe("waiting");
  expect(thread.of("turn_end")).toMatchObject([{ stopReason: "interrupted" }]);
  thread.answer(requestId, "once");
  thread.start();
  await until("the turn to end", () => statusOf(thread.fold()) === "idle");
  expect(isMade(thread)).toBe(true);
  const [first, second] = thread.of("permission_request");
  expect(second?.replaces).toBe(first?.requestId);
  const responses = thread.of("permission_response").map(({ optionId, by }) => ({ optionId, by }));
  expect(responses[0]?.by).toBeDefined();
  expect(responses).toEqual([responses[0], responses[0]]);
  expect(responses[0]?.optionId).toBe("once");
});

test("a parked ask that is asked again: an answer to the old request answers the new one", async () => {
  const { thread, requestId } = await openAsk();
  killEngine(thread);
  await thread.ended();
  thread.write("are you there?");
  thread.start();
  const again = await thread.event("permission_request", 2);
  expect(again.replaces).toBe(requestId);
  thread.answer(requestId, "once");
  await until("the turn to end", () => statusOf(thread.fold()) === "idle");
  expect(isMade(thread)).toBe(true);
  expect(thread.of("permission_response")).toMatchObject([{ requestId: again.requestId, optionId: "once" }]);
});

test("the model does not call again: the parked ask ends with the turn", async () => {
  const { thread } = await openAsk({ env: { THREADMUX_DEMO_CALLS_AGAIN: "0" } });
  killEngine(thread);
  await thread.ended();
  thread.write(says("never mind", { text: "Fine." }));
  thread.start();
  await until("the turn to end", () => statusOf(thread.fold()) === "idle");
  expect(thread.of("permission_response")).toMatchObject([{ outcome: "cancelled", reason: "turn_ended" }]);
  expect(isMade(thread)).toBe(false);
});

test("an ask that waits too long is parked: no process, and the answer starts the engine again", async () => {
  const { thread, requestId } = await openAsk({ timeouts: { askParkMinutes: 0.02 } });
  expect(await thread.ended()).toBe(0);
  expect(thread.of("engine_end")).toMatchObject([{ reason: "parked" }]);
  expect(thread.engineProcesses()).toEqual([]);
  thread.answer(requestId, "once");
  thread.start();
  await until("the turn to end", () => statusOf(thread.fold()) === "idle");
  expect(isMade(thread)).toBe(true);
});

test("with a deadline an ask that nobody answers is refused", async () => {
  const { thread } = await openAsk({ timeouts: { askTimeoutSeconds: 1 } });
  await thread.event("turn_end");
  expect(thread.of("permission_response")).toMatchObject([{ outcome: "cancelled", reason: "timeout" }]);
  expect(isMade(thread)).toBe(false);
});

const questions = [
  {
    question: "Which database?",
    header: "DB",
    multiSelect: false,
    options: [
      { label: "SQLite", description: "one file" },
      { label: "Postgres", description: "a server" },
    ],
  },
];
const question = { name: "AskUserQuestion", input: { questions } };

test("a question is answered by its label", async () => {
  const thread = open();
  thread.write(says("ask me", { tools: [question] }, { text: "ok" }));
  thread.start();
  const asked = await thread.event("elicitation_request");
  expect(asked.questions).toEqual(questions);
  const content = { "Which database?": "Postgres" };
  const { requestId } = asked;
  thread.append({ op: "elicitation", requestId, action: "accept", content, by: "discord:7" });
  await thread.event("turn_end");
  expect(JSON.stringify(thread.of("tool_call_update").at(-1)?.content)).toContain("Postgres");
});

test.each(["__proto__", "constructor", "toString"])("a question called %s is answered too", async (name) => {
  const thread = open();
  const [first] = questions;
  thread.write(
    says("ask me", { tools: [{ ...question, input: { questions: [{ ...first, question: name }] } }] }),
  );
  thread.start();
  const { requestId, questions: asked } = await thread.event("elicitation_request");
  expect(asked[0]?.question).toBe(`"${name}"`);
  const content = { [`"${name}"`]: "Postgres" };
  thread.append({ op: "elicitation", requestId, action: "accept", content, by: "discord:7" });
  await thread.event("turn_end");
  expect(thread.saved()).toContain(String.raw`\"${name}\"=\"Postgres\"`);
});

test("the engine dies before it has saved an answer: the next one is told it, and nobody is asked again", async () => {
  const thread = open();
  const go = join(thread.dir, "go");
  thread.write(says("ask me", { tools: [question] }, { waitFor: go, text: "ok" }));
  thread.start();
  const { requestId } = await thread.event("elicitation_request");
  const content = { "Which database?": "Postgres" };
  thread.append({ op: "elicitation", requestId, action: "accept", content, by: "discord:7" });
  await until("the answer to be saved", () => /"tool_result".*Postgres/.test(thread.saved()));
  await until("the call to be over", () => thread.of("tool_call_update").at(-1)?.status === "completed");
  // What a kill some milliseconds earlier would have left: the runner has read what claude has not saved.
  const runner = thread.runner?.pid;
  signal(runner, "SIGSTOP");
  killEngine(thread);
  thread.forget("tool_result");
  signal(runner, "SIGCONT");
  await thread.event("engine_start", 2);
  writeFileSync(go, "");
  await until("the turn to end", () => statusOf(thread.fold()) === "idle");
  expect(thread.saved()).toContain(String.raw`\"Which database?\"=\"Postgres\"`);
  expect(thread.of("elicitation_request")).toHaveLength(1);
  expect(thread.fold().heardAnswers).toBeUndefined();
});

test("a plan is shown, sent back with words, and approved with edits", async () => {
  const thread = open({ agent: { permissionMode: "plan" } });
  const plan = { name: "ExitPlanMode", input: { plan: "# Plan\n1. one" } };
  thread.write(says("plan", { tools: [plan] }, { tools: [plan] }, { text: "go" }));
  thread.start();
  const first = await thread.event("permission_request");
  expect(first.plan).toContain("1. one");
  thread.answer(first.requestId, "no", "and tests");
  thread.answer((await thread.event("permission_request", 2)).requestId, "edits");
  await thread.event("turn_end");
  expect(thread.fold().engine?.modeId).toBe("acceptEdits");
});

test("an engine that asks without end: people see a hundred, and the rest is refused in words", async () => {
  const thread = open();
  const calls = Array.from({ length: 110 }, (_, n) => ({ name: "Read", input: { file_path: `/no/${n}` } }));
  thread.write(says("read", { text: "Reading.", tools: calls }, { text: "read it" }));
  thread.start();
  const failed = () => thread.of("tool_call_update").filter(({ status }) => status === "failed");
  await until("the calls that are refused", () => failed().length >= 10);
  expect(thread.of("permission_request")).toHaveLength(100);
  expect(thread.fold().asks).toHaveLength(100);
  expect(JSON.stringify(failed()[0])).toContain("100 questions wait for people already");
  expect(thread.of("notice").map(({ title }) => title)).toEqual([
    "The agent asks more than people can decide on: its next questions are refused",
  ]);
});
