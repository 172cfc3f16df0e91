/** The runner of agent threads, as a process, with the scripted stand-in as its engine. */
import { appendFileSync, mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { bash, openThreads, says } from "../support/agent-threads.ts";
import { signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

const open = openThreads();

test("a message: delivery, text, end; then idle, and the next message goes on with the conversation", async () => {
  const thread = open({ timeouts: { idleSeconds: 1 } });
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await thread.event("turn_end");
  expect(thread.of("agent_message").map(({ text }) => text)).toEqual(["Hello."]);
  expect(thread.of("turn_end")).toMatchObject([{ stopReason: "end_turn" }]);
  expect(await thread.ended()).toBe(0);
  expect(thread.engineProcesses()).toEqual([]);
  expect(statusOf(thread.fold())).toBe("idle");
  thread.write(says("again", { text: "Still here." }));
  thread.start();
  await thread.event("turn_end", 2);
  expect(thread.of("agent_message").map(({ text }) => text)).toEqual(["Hello.", "Still here."]);
  const [first, second] = thread.of("engine_start");
  expect(second).toMatchObject({ resumed: true, generation: 2, sessionId: first?.sessionId });
});

test("an ask waits for its answer, and the call runs then", async () => {
  const thread = open();
  thread.write(says("make it", { tools: [bash("mkdir made")] }, { text: "done" }));
  thread.start();
  const ask = await thread.event("permission_request");
  expect(statusOf(thread.fold())).toBe("waiting");
  expect(ask.options.map(({ optionId }) => optionId)).toEqual(["once", "thread", "no"]);
  thread.answer(ask.requestId, "once");
  await thread.event("turn_end");
  expect(thread.of("permission_response")).toMatchObject([{ optionId: "once", by: "discord:7" }]);
  expect(thread.of("tool_call_update").map(({ status }) => status)).toEqual(["in_progress", "completed"]);
  await until("the pane to show it", () => thread.pane.includes("done"));
});

test("an engine that has printed much ends at the next rest; the next message goes on", async () => {
  const thread = open(); // at rest it would be kept for two minutes
  thread.write(says("one", { text: "First." }));
  thread.start();
  await thread.event("turn_end");
  const line = `{"type":"keep_alive","padding":"${"x".repeat(100_000)}"}\n`;
  appendFileSync(join(thread.folder, "engine.1.jsonl"), line.repeat(340));
  expect(await thread.event("engine_end")).toMatchObject({ reason: "idle", generation: 1 });
  expect(await thread.ended()).toBe(0);
  thread.write(says("two", { text: "Second." }));
  thread.start();
  await thread.event("turn_end", 2);
  expect(thread.of("engine_start")[1]).toMatchObject({ generation: 2, resumed: true });
});

test("what earlier engines printed is removed, but for the last two", async () => {
  const thread = open({ timeouts: { idleSeconds: 1 } });
  for (let generation = 1; generation <= 4; generation++) {
    thread.write(says("more", { text: `Answer ${generation}.` }));
    thread.start();
    await thread.event("turn_end", generation);
    await thread.ended();
  }
  const outputs = readdirSync(thread.folder).filter((name) => /^engine\.\d+\.jsonl$/.test(name));
  expect(outputs.sort()).toEqual(["engine.2.jsonl", "engine.3.jsonl", "engine.4.jsonl"]);
});

// Promise: S6
test("a directory that is swapped for a link while a runner lives: its next engine does not start there", async () => {
  const thread = open({ agent: { permissionMode: "bypassPermissions" } });
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await thread.event("turn_end");
  const outside = `${thread.dir}-outside`;
  mkdirSync(outside);
  renameSync(thread.dir, `${thread.dir}-before`);
  symlinkSync(outside, thread.dir);
  signal(thread.enginePid() ?? 0, "SIGKILL");
  await thread.event("engine_end");
  thread.write(says("go on", { tools: [bash("touch ran")] }, { text: "Done." }));
  await until("what becomes of it", () => {
    if (!thread.runner) thread.start();
    return thread.of("failure").length > 0 || thread.of("turn_end").length > 1;
  });
  expect(readdirSync(outside)).toEqual([]);
  const message = `The directory ${thread.dir} leads elsewhere now.`;
  expect(thread.of("failure")).toMatchObject([{ code: "no_directory", message }]);
});
