/** A message that no person wrote, before the real program: marked as such, and none is lost or doubled by a kill. */
import { expect, test } from "vitest";
import { type AgentThread, bash, says } from "../support/agent-threads.ts";
import { signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();
const from = { source: "thread:other", plain: true, hops: 1 };
const MARK = "[MESSAGE FROM NON-USER SOURCE - NOT USER INPUT]";

const open = () =>
  real.open({ agent: { permissionMode: "bypassPermissions" }, timeouts: { idleSeconds: 2 } });

function killEngine(thread: AgentThread): void {
  const pid = thread.enginePid();
  if (pid === undefined) throw new Error("no engine runs");
  signal(pid, "SIGKILL");
}

async function expectOnce(thread: AgentThread, word: string): Promise<void> {
  await thread.ended();
  const last = JSON.stringify(real.model.requests.at(-1)?.messages);
  expect(last.split(word)).toHaveLength(2);
  expect(last.split(MARK)).toHaveLength(2);
  expect(last).not.toContain("The user sent a new message");
  expect(thread.fold()).toMatchObject({ messages: [], deliveries: [], turn: null });
}

test("at rest: killed before the model answers, it is taken up and answered", {
  timeout: 60_000,
}, async () => {
  const thread = open();
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await thread.event("turn_end");
  thread.write(says("ATREST", { text: "Heard it.", delayMs: 1_500 }), from);
  await until("the model to have it", () => real.model.timesInContext("ATREST") > 0);
  killEngine(thread);
  await until("an answer", () => thread.of("agent_message").some(({ text }) => text === "Heard it."));
  await expectOnce(thread, "ATREST");
});

test("in mid-turn: it is marked, and once in the context though the program is killed after it", {
  timeout: 60_000,
}, async () => {
  const thread = open();
  const slow = (seconds: number) => ({ tools: [bash(`timeout ${seconds} tail -f /dev/null; true`)] });
  thread.write(says("work", slow(2), slow(4), { text: "Worked." }));
  thread.start();
  await thread.event("tool_call");
  thread.write("MIDTURN", from);
  await thread.event("tool_call", 2);
  expect(real.model.timesInContext("MIDTURN")).toBe(1);
  killEngine(thread);
  await until("the turn's end", () =>
    thread.of("turn_end").some(({ stopReason }) => stopReason === "end_turn"),
  );
  await expectOnce(thread, "MIDTURN");
});

test("nothing of the program's own doubles ours", { timeout: 60_000 }, async () => {
  const thread = open();
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await thread.event("turn_end");
  await thread.ended();
  const [request] = real.model.requests.filter(({ tools }) => tools?.length);
  const names = request?.tools?.map(({ name }) => name) ?? [];
  expect(names).toContain("Bash");
  const doubles = ["CronCreate", "ScheduleWakeup", "SendMessage", "ListAgents", "Monitor", "Workflow"];
  expect(names.filter((name) => doubles.includes(name))).toEqual([]);
  expect(JSON.stringify([request?.system, request?.messages])).not.toMatch(/projects\/[^" ]*\/memory/);
});
