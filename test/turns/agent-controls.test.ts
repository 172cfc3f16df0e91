/** What people do to an agent thread while it works: stop, pause, kill, answer, change their words. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { type AgentThread, bash, openThreads, says } from "../support/agent-threads.ts";
import { until } from "../support/wait.ts";

const open = openThreads();

/** A call that begins (its file appears) and then runs until it is ended. */
const endless = (thread: AgentThread) => bash(`touch ${join(thread.dir, "begun")}; tail -f /dev/null`);
const hasBegun = (thread: AgentThread) =>
  until("the call to run", () => existsSync(join(thread.dir, "begun")));

async function runEndless(thread: AgentThread, after = "after"): Promise<void> {
  thread.write(says("run", { text: "Running.", tools: [endless(thread)] }, { text: after }));
  thread.start();
  thread.answer((await thread.event("permission_request")).requestId, "once");
  await hasBegun(thread);
}

test("Stop ends the turn and its call; the next message runs", async () => {
  const thread = open();
  await runEndless(thread);
  thread.control("interrupt", { turnId: thread.fold().turn?.turnId });
  expect(await thread.event("turn_end")).toMatchObject({ stopReason: "cancelled" });
  await until(
    "its call to be gone",
    () => !thread.engineProcesses().some(({ command }) => command.includes("tail")),
  );
  thread.write(says("go on", { text: "Here." }));
  expect(await thread.event("turn_end", 2)).toMatchObject({ stopReason: "end_turn" });
});

test("Stop of another turn is left alone", async () => {
  const thread = open();
  await runEndless(thread);
  thread.control("interrupt", { turnId: "t0-0" });
  thread.write("not yet", { when: "next_turn" });
  await thread.event("user_message", 2);
  expect(thread.fold().pending.interrupt).toBeNull();
  expect(thread.of("turn_end")).toEqual([]);
});

test("a message in mid-turn goes in; one for the next turn waits for the end", async () => {
  const thread = open();
  const go = join(thread.dir, "go");
  thread.write(
    says("look", { text: "Looking at it, in more than one piece of text.", pauseFor: go }, { text: "heard" }),
  );
  thread.start();
  await thread.event("delivery_update");
  thread.write("later", { when: "next_turn" });
  thread.write("now");
  await thread.event("delivery", 2);
  expect(thread.of("delivery")[1]?.messageIds).toEqual([thread.of("user_message")[2]?.messageId]);
  writeFileSync(go, "");
  await thread.event("delivery", 3);
  const [end] = thread.of("turn_end");
  expect(thread.of("delivery")[2]?.seq).toBeGreaterThan(end?.seq ?? 0);
});

test("an edit and a withdrawal count until a delivery holds the message, and say so if not", async () => {
  const thread = open();
  await runEndless(thread);
  const edited = thread.write("old words", { when: "next_turn" });
  const withdrawn = thread.write("never mind", { when: "next_turn" });
  const content = [{ type: "text", text: "new words" }];
  thread.append({ op: "edit", messageId: edited, content, by: "discord:7" });
  thread.append({ op: "withdraw", messageId: withdrawn, by: "discord:7" });
  const [first] = thread.of("user_message");
  thread.append({ op: "withdraw", messageId: first?.messageId, by: "discord:7" });
  await thread.event("message_withdraw", 2);
  expect(thread.of("message_edit").map(({ applied }) => applied)).toEqual([true]);
  expect(thread.of("message_withdraw").map(({ applied }) => applied)).toEqual([true, false]);
  expect(thread.fold().messages).toMatchObject([{ content }]);
});

test("kill ends engine, calls, asks and turn, and nothing starts by itself", async () => {
  const thread = open();
  await runEndless(thread);
  thread.control("kill");
  expect(await thread.ended()).toBe(0);
  expect(statusOf(thread.fold())).toBe("killed");
  expect(thread.fold()).toMatchObject({ turn: null, toolCalls: [], asks: [], deliveries: [] });
  expect(thread.of("engine_end")).toMatchObject([{ reason: "killed" }]);
  expect(thread.engineProcesses()).toEqual([]);
  thread.start();
  expect(await thread.ended()).toBe(0);
  expect(thread.of("engine_start")).toHaveLength(1);
});

test("kill without a runner: one run closes what was open and ends the engine", async () => {
  const thread = open();
  thread.write(says("ask", { tools: [bash("mkdir x")] }, { text: "done" }));
  thread.start();
  await thread.event("permission_request");
  thread.killRunner();
  await thread.runnerDied();
  thread.control("kill");
  thread.start();
  expect(await thread.ended()).toBe(0);
  expect(thread.of("permission_response")).toMatchObject([{ outcome: "cancelled", reason: "killed" }]);
  expect(thread.engineProcesses()).toEqual([]);
});

test("kill after the engine has died with its runner: it counts as killed, not as crashed", async () => {
  const thread = open();
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await thread.event("turn_end");
  thread.killRunner();
  await thread.runnerDied();
  for (const { pid } of thread.engineProcesses()) process.kill(pid, "SIGKILL");
  await until("the engine to be gone", () => thread.engineProcesses().length === 0);
  thread.control("kill");
  thread.start();
  expect(await thread.ended()).toBe(0);
  expect(thread.of("engine_end")).toMatchObject([{ reason: "killed" }]);
});

test("pause cuts a call off, nothing starts; resume takes the turn up", async () => {
  const thread = open();
  await runEndless(thread, "went on");
  thread.control("pause");
  expect(await thread.ended()).toBe(0);
  expect(statusOf(thread.fold())).toBe("paused");
  expect(thread.of("tool_call_update").at(-1)).toMatchObject({ status: "failed", reason: "interrupted" });
  expect(thread.engineProcesses()).toEqual([]);
  thread.write("while paused");
  thread.start();
  expect(await thread.ended()).toBe(0);
  expect(thread.of("engine_start")).toHaveLength(1);
  thread.control("resume");
  thread.start();
  await until("the turn to be taken up and to end", () => statusOf(thread.fold()) === "idle");
  expect(thread.of("agent_message").map(({ text }) => text)).toContain("went on");
  expect(thread.of("turn_start").at(1)?.cause).toBe("resume");
});

test("mode and model are confirmed by the engine, and hold over its next start", async () => {
  const thread = open({ timeouts: { idleSeconds: 1 } });
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await thread.event("turn_end");
  thread.append({ op: "mode", modeId: "acceptEdits", by: "discord:7" });
  thread.append({ op: "model", model: "other-model", by: "discord:7" });
  await until("both to be confirmed", () => {
    if (!thread.runner) thread.start(); // at rest for long enough it ends, perhaps just now
    // In this order: read before the controls were there, nothing is pending either.
    const areThere = thread.of("control").length === 2;
    const { mode, model } = thread.fold().pending;
    return areThere && mode === null && model === null;
  });
  expect(thread.of("current_mode_update")).toMatchObject([{ modeId: "acceptEdits", by: "discord:7" }]);
  await thread.ended();
  thread.write(says("again", { text: "Still." }));
  thread.start();
  await thread.event("turn_end", 2);
  expect(thread.of("engine_start")[1]).toMatchObject({ modeId: "acceptEdits" });
});

test("a mode that the engine refuses is told, and the old one stays", async () => {
  const thread = open();
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await thread.event("turn_end");
  thread.append({ op: "mode", modeId: "bypassPermissions", by: "discord:7" });
  expect(await thread.event("notice")).toMatchObject({ title: expect.stringContaining("bypassPermissions") });
  expect(thread.fold().pending.mode).toBeNull();
  expect(thread.fold().engine?.modeId).toBe("default");
});

test("compact: told when it begins and how it ended; a message goes on after it", async () => {
  const thread = open();
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await thread.event("turn_end");
  thread.control("compact", { text: "keep the names" });
  await until("the compaction's end", () => thread.of("compaction_update").at(-1)?.status === "completed");
  thread.write(says("again", { text: "Compacted and well." }));
  await thread.event("turn_end", 2);
  expect(thread.of("agent_message").at(-1)?.text).toBe("Compacted and well.");
});
