/** Gates with the engine `own`: all five points, time that is over, a pause while somebody decides. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type AgentThread, openThreads, says, type ThreadOptions } from "../support/agent-threads.ts";
import { bash, envOf, modelOfFile, ownOptions } from "../support/own-agent.ts";
import { isAlive } from "../support/processes.ts";
import { until } from "../support/wait.ts";

const openThread = openThreads();
const model = modelOfFile();

const UNASKED = "bypassPermissions";

function begin(
  gates: object[],
  rounds: Parameters<typeof says>[1][],
  options: ThreadOptions = {},
): AgentThread {
  const { agent, ...others } = options;
  const thread = openThread(
    ownOptions(envOf("anthropic", model.url), { ...others, agent: { gates, ...agent } }),
  );
  thread.write(says("hello", ...rounds));
  thread.start();
  return thread;
}

const call = (command: string) => ({ tools: [bash(command)] });
const done = { text: "Done." };
const isMade = (thread: AgentThread, name: string) => existsSync(join(thread.dir, name));
const outcomes = (thread: AgentThread) =>
  thread.of("gate_response").map(({ outcome, text }) => [outcome, ...(text === undefined ? [] : [text])]);
const linesOf = (path: string) => (existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : []);

test("a command decides before a call; one that it lets go on is asked about as without it", async () => {
  const by = "command: cat > asked; grep -q staging asked || { echo 'not on prod'; exit 1; }";
  const gates = [{ at: "before_step", if: { command: "touch *" }, by }];
  const thread = begin(gates, [call("touch prod"), call("touch staging"), done]);
  // The engine asks first: the gate's command decides only about a call that a person has let run.
  const first = await thread.event("permission_request");
  expect(first).not.toHaveProperty("gate");
  expect(outcomes(thread)).toEqual([]);
  thread.answer(first.requestId, "once");
  const second = await thread.event("permission_request", 2);
  thread.answer(second.requestId, "once");
  await thread.event("turn_end");
  expect(outcomes(thread)).toEqual([["fail", "not on prod"], ["continue"]]);
  expect([isMade(thread, "prod"), isMade(thread, "staging")]).toEqual([false, true]);
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("did not let this call run: not on prod");
});

test("in a mode that asks for nothing a person is asked at the gate", async () => {
  const gates = [{ at: "before_step", if: { command: "touch *" }, by: "person", prompt: "Really?" }];
  const agent = { permissionMode: UNASKED };
  const thread = begin(gates, [call("touch one"), call("touch two"), done], { agent });
  const first = await thread.event("permission_request");
  expect(first).toMatchObject({ gate: "before_step", description: "Really?" });
  expect(isMade(thread, "one")).toBe(false);
  thread.answer(first.requestId, "continue");
  const second = await thread.event("permission_request", 2);
  expect(isMade(thread, "one")).toBe(true);
  thread.answer(second.requestId, "fail", "one is enough");
  await thread.event("turn_end");
  expect(isMade(thread, "two")).toBe(false);
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("one is enough");
});

test("the engine's own question stands for a person's gate: a person is asked once", async () => {
  const thread = begin([{ at: "before_step", by: "person" }], [call("touch one"), done]);
  const { requestId } = await thread.event("permission_request");
  thread.answer(requestId, "once");
  await thread.event("turn_end");
  expect(thread.of("permission_request")).toHaveLength(1);
  expect(thread.of("gate_request")).toEqual([]);
  expect(isMade(thread, "one")).toBe(true);
});

test("between its calls, before its end and after failures", async () => {
  const gates = [
    { at: "after_step", if: { every: 3 }, by: 'command: echo "$(wc -l < log) lines"; exit 1' },
    { at: "on_error", if: { failures: 2 }, by: "command: echo 'stuck'; exit 1" },
    { at: "after_complete", by: "command: test -e ready || { touch ready; echo 'not ready'; exit 1; }" },
  ];
  const calls = [1, 2, 3].map((n) => call(`echo ${n} >> log`));
  const thread = begin(
    gates,
    [...calls, call("false"), call("false"), { text: "First." }, { text: "Last." }],
    {
      agent: { permissionMode: UNASKED },
    },
  );
  expect(await thread.event("turn_end")).toMatchObject({ stopReason: "end_turn" });
  expect(outcomes(thread)).toEqual([
    ["retry", "3 lines"],
    ["retry", "stuck"],
    ["retry", "not ready"],
    ["continue"],
  ]);
});

test("at a limit a command stops the thread", async () => {
  const by = "command: echo 'nothing left'; exit 1";
  const agent = { limits: { calls: 1 }, permissionMode: UNASKED };
  const thread = begin([{ at: "on_limit", by }], [call("touch one"), call("touch two"), done], { agent });
  const stopped = await thread.event("permission_response");
  expect(stopped).toMatchObject({ optionId: "stop", message: "nothing left", by: "job:gate" });
  expect(isMade(thread, "two")).toBe(false);
});

test.each<[string, object]>([
  ["a command", { by: "command: echo $$ >> pids; sleep 600; exit 0" }],
  ["a person", { by: "person" }],
])("%s that does not decide in time is asked once more, then the call has failed", async (_name, by) => {
  const gates = [{ at: "before_step", timeoutSeconds: 1, ...by }];
  const thread = begin(gates, [call("touch it"), done], { agent: { permissionMode: UNASKED } });
  await thread.event("turn_end");
  expect(thread.of("gate_request").map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(outcomes(thread)).toEqual([["fail", "Nobody decided in time."]]);
  expect(isMade(thread, "it")).toBe(false);
  expect(thread.fold().asks).toEqual([]);
  for (const pid of linesOf(join(thread.dir, "pids"))) expect(isAlive(Number(pid))).toBe(false);
  const late = thread.of("permission_request").at(-1)?.requestId;
  if (late === undefined) return;
  thread.answer(late, "continue"); // it comes too late, and counts for nothing
  thread.write(says("more", call("touch it"), done));
  await thread.eventOfRunners("turn_end", 2);
  expect(isMade(thread, "it")).toBe(false);
});

test("a pause while a command decides ends it; the call that is made again is decided on again", async () => {
  const by = "command: echo $$ >> pids; until test -e go; do sleep 0.05; done";
  const gates = [{ at: "before_step", by }];
  const thread = begin(gates, [call("touch it"), done], { agent: { permissionMode: UNASKED } });
  const pids = () => linesOf(join(thread.dir, "pids"));
  await until("the command", () => pids().length === 1);
  thread.control("pause");
  await thread.event("engine_end");
  await until("the command's end", () => !isAlive(Number(pids()[0])));
  expect(isMade(thread, "it")).toBe(false);
  writeFileSync(join(thread.dir, "go"), "");
  thread.control("resume");
  const end = await until("the turn's end", () => {
    if (!thread.runner) thread.start();
    return thread.of("turn_end").find(({ stopReason }) => stopReason === "end_turn");
  });
  expect(end).toBeDefined();
  expect(isMade(thread, "it")).toBe(true);
  expect(outcomes(thread).filter(([outcome]) => outcome === "continue")).toHaveLength(1);
});
