/** The runner of agent threads, as a process, with the scripted stand-in as its engine. */
import { expect, test } from "vitest";
import { statusOf } from "../shared/agent/fold.ts";
import { bash, openThreads, says } from "./support/agent-threads.ts";
import { until } from "./support/wait.ts";

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
