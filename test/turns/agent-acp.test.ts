/** The engine `acp`: a scripted agent of the protocol's own SDK behind real runners. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { buildAcpAgent, effectsIn, forgetLast, heardBy, notesOf, told } from "../support/acp.ts";
import { type AgentThread, openThreads, type ThreadOptions } from "../support/agent-threads.ts";
import { signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

let agent: Awaited<ReturnType<typeof buildAcpAgent>>;
beforeAll(async () => {
  agent = await buildAcpAgent();
});
afterAll(() => agent?.remove());

const openThread = openThreads();
const open = (flags: string[] = [], options: ThreadOptions = {}, name?: string): AgentThread =>
  openThread({
    ...options,
    agent: { engine: "acp", ...options.agent },
    program: { program: agent.program(name), args: flags, env: {} },
  });
const said = (thread: AgentThread) => thread.of("agent_message").map(({ text }) => text);

describe("a message in, a turn's events out", () => {
  test("texts, thoughts, calls, plan, usage and the end, each once", async () => {
    const thread = open();
    const plan = { sessionUpdate: "plan", entries: [{ content: "p", priority: "high", status: "pending" }] };
    const usage = {
      sessionUpdate: "usage_update",
      used: 5,
      size: 100,
      cost: { amount: 0.5, currency: "USD" },
    };
    thread.write(
      told(
        "go",
        { thought: "hm" },
        { text: "One " },
        { text: "two." },
        { update: plan },
        { call: "touch a" },
        { update: usage },
        { text: "done" },
      ),
    );
    thread.start();
    expect(await thread.event("turn_end")).toMatchObject({
      stopReason: "end_turn",
      usage: { inputTokens: 10, outputTokens: 5 },
      cost: { amount: 0.5 },
    });
    expect(thread.of("engine_start")).toMatchObject([{ engine: "acp", model: "scripted", version: "1.2.3" }]);
    expect(thread.of("agent_thought").map(({ text }) => text)).toEqual(["hm"]);
    expect(said(thread)).toEqual(["One two.", "done"]);
    expect(thread.of("tool_call")).toMatchObject([{ title: "touch a", kind: "execute" }]);
    expect(thread.of("tool_call_update")).toMatchObject([
      { status: "in_progress" },
      { status: "completed", content: [{ content: { text: "did touch a" } }] },
    ]);
    expect(thread.of("plan")).toHaveLength(1);
    expect(thread.of("usage_update")).toMatchObject([{ used: 5, size: 100 }]);
    expect(thread.of("delivery_update").map(({ status }) => status)).toEqual(["started", "completed"]);
    expect(effectsIn(thread.dir)).toEqual(["touch a"]);
    expect(statusOf(thread.fold())).toBe("idle");
  });

  test("an ask is answered with the agent's own option, and the call runs once", async () => {
    const thread = open();
    thread.write(told("go", { call: "rm x", ask: true }));
    thread.start();
    const ask = await thread.event("permission_request");
    expect(ask.options).toEqual([
      { optionId: "once", name: "Yes", kind: "allow_once" },
      { optionId: "always", name: "Yes, and don't ask again", kind: "allow_always" },
      { optionId: "no", name: "No", kind: "reject_once" },
    ]);
    expect(effectsIn(thread.dir)).toEqual([]);
    thread.answer(ask.requestId, "always");
    await thread.event("turn_end");
    expect(notesOf(thread)).toContain("answer allow-all");
    expect(effectsIn(thread.dir)).toEqual(["rm x"]);
  });
});

describe("people in mid-turn", () => {
  test("an interrupt is a cancel: the turn ends, its ask is withdrawn, the next message runs", async () => {
    const thread = open();
    thread.write(told("one", { call: "rm x", ask: true }, { text: "not said" }));
    thread.start();
    await thread.event("permission_request");
    thread.control("interrupt");
    expect(await thread.event("turn_end")).toMatchObject({ stopReason: "cancelled" });
    expect(thread.of("permission_response")).toMatchObject([{ outcome: "cancelled" }]);
    thread.write(told("two", { text: "second" }));
    await thread.event("turn_end", 2);
    expect(said(thread)).toEqual(["second"]);
    expect(effectsIn(thread.dir)).toEqual([]);
  });

  test.each([
    ["is held until the turn's end", ["--strict"], undefined, 2],
    ["is steered into the turn, if the agent says that it can", ["--steer", "--strict"], undefined, 1],
    ["is a second prompt, for opencode", [], "opencode", 1],
  ])("a message %s", async (_, flags, name, turns) => {
    const thread = open(flags, {}, name);
    thread.write(told("one", { call: "slow", waitFor: "go" }));
    thread.start();
    await thread.event("tool_call_update");
    thread.write(told("two", { text: "second" }));
    if (turns === 1) await until("the agent to have it", () => heardBy(thread).length === 2);
    else await thread.event("delivery", 2);
    writeFileSync(join(thread.dir, "go"), "");
    await thread.event("turn_end", turns);
    await until(
      "both to be done",
      () => thread.of("delivery_update").filter(({ status }) => status === "completed").length === 2,
    );
    expect(thread.of("turn_end")).toHaveLength(turns);
    expect(said(thread)).toEqual(["second"]);
    expect(heardBy(thread)).toHaveLength(2);
    expect(notesOf(thread)).not.toContain("a prompt in mid-turn");
  });
});

test("a message that comes as the turn ends is told once, and its calls run once", async () => {
  const thread = open(["--steer", "--slow-end", "--strict"]);
  thread.write(told("one", { text: "first" }));
  thread.start();
  await until("its turn to be over", () => notesOf(thread).includes("turn over"));
  thread.write(told("two", { call: "touch a" }, { text: "second" }));
  await thread.event("turn_end", 2);
  expect(said(thread)).toEqual(["first", "second"]);
  expect(heardBy(thread)).toHaveLength(2);
  expect(effectsIn(thread.dir)).toEqual(["touch a"]);
});

describe("kill -9 of runner, adapter and agent together", () => {
  const killAll = async (thread: AgentThread) => {
    thread.killRunner();
    await thread.runnerDied();
    for (const { pid } of thread.engineProcesses()) signal(pid, "SIGKILL");
    await until("all to be gone", () => thread.engineProcesses().length === 0);
  };
  const markers = (thread: AgentThread) =>
    heardBy(thread)
      .join("\n")
      .match(/<!-- \w{8} -->/g) ?? [];

  test("at rest: the conversation goes on, and nothing is told twice", async () => {
    const thread = open();
    thread.write(told("one", { text: "first" }));
    thread.start();
    await thread.event("turn_end");
    await killAll(thread);
    thread.write(told("two", { text: "second" }));
    thread.start();
    await thread.event("turn_end", 2);
    expect(said(thread)).toEqual(["first", "second"]);
    expect(notesOf(thread).map((note) => note.split(" ")[0])).toEqual(["new", "load"]);
    expect(heardBy(thread)).toHaveLength(2);
    expect(thread.of("engine_start").map(({ resumed }) => resumed)).toEqual([false, true]);
  });

  test("while the model is called: the message is there once, and the turn goes on", async () => {
    const thread = open();
    thread.write(told("one", { waitFor: "go" }, { text: "done" }));
    thread.start();
    await until("the agent to have it", () => heardBy(thread).length === 1);
    await thread.event("turn_start");
    await killAll(thread);
    writeFileSync(join(thread.dir, "go"), "");
    thread.start();
    await thread.event("turn_end", 2);
    expect(thread.of("turn_end").map(({ stopReason }) => stopReason)).toEqual(["interrupted", "end_turn"]);
    expect(thread.of("turn_start")[1]).toMatchObject({ cause: "resume" });
    expect(said(thread)).toEqual(["done"]);
    expect(markers(thread)).toHaveLength(1);
    expect(heardBy(thread)[1]).toContain("[threadmux] The session was restarted");
    expect(statusOf(thread.fold())).toBe("idle");
  });

  test("while a call runs: it is not run again, and the agent is told that its outcome is unknown", async () => {
    const thread = open();
    thread.write(told("one", { call: "slow effect", waitFor: "go" }, { text: "done" }));
    thread.start();
    await thread.event("tool_call_update");
    await killAll(thread);
    writeFileSync(join(thread.dir, "go"), "");
    thread.start();
    await thread.event("turn_end", 2);
    expect(effectsIn(thread.dir)).toEqual([]);
    expect(thread.of("tool_call_update").at(-1)).toMatchObject({ status: "failed", reason: "interrupted" });
    expect(heardBy(thread)[1]).toMatch(/outcome is unknown.*\n- slow effect/s);
    expect(markers(thread)).toHaveLength(1);
  });

  test("with an ask open: it stays, one answer is enough, and the call runs once", async () => {
    const thread = open();
    thread.write(told("one", { call: "rm x", ask: true }, { text: "done" }));
    thread.start();
    const ask = await thread.event("permission_request");
    await killAll(thread);
    thread.start();
    expect(await thread.ended()).toBe(0);
    expect(statusOf(thread.fold())).toBe("waiting");
    thread.answer(ask.requestId, "once");
    thread.start();
    await thread.event("turn_end", 2);
    expect(effectsIn(thread.dir)).toEqual(["rm x"]);
    expect(notesOf(thread).filter((note) => note.startsWith("answer"))).toEqual(["answer allow-1"]);
    expect(heardBy(thread)[1]).toMatch(/did NOT run; call them again:\n- execute .*rm x/);
    expect(thread.fold().asks).toEqual([]);
  });

  test("before the agent has saved the message: it is told again, and that once", async () => {
    const thread = open();
    thread.write(told("zero", { text: "first" }));
    thread.start();
    await thread.event("turn_end");
    thread.write(told("one", { waitFor: "go" }, { call: "effect" }));
    await until("the agent to have it", () => heardBy(thread).length === 2);
    await thread.event("turn_start", 2);
    await killAll(thread);
    forgetLast(thread);
    writeFileSync(join(thread.dir, "go"), "");
    thread.start();
    await thread.event("turn_end", 3);
    expect(thread.of("turn_start")[2]).toMatchObject({ cause: "message" });
    expect(thread.of("delivery")).toHaveLength(2);
    expect(heardBy(thread)).toEqual([expect.stringContaining("zero"), expect.stringContaining("one")]);
    expect(effectsIn(thread.dir)).toEqual(["effect"]);
    expect(thread.fold().deliveries).toEqual([]);
  });

  test("an agent that can go on and replays nothing: what it may have been told counts as told", async () => {
    const thread = open(["--no-load", "--resume"]);
    thread.write(told("one", { waitFor: "go" }, { text: "done" }));
    thread.start();
    await until("the agent to have it", () => heardBy(thread).length === 1);
    await thread.event("turn_start");
    await killAll(thread);
    writeFileSync(join(thread.dir, "go"), "");
    thread.start();
    await thread.event("turn_end", 2);
    expect(notesOf(thread).map((note) => note.split(" ")[0])).toEqual(["new", "resume"]);
    expect(said(thread)).toEqual(["done"]);
    expect(markers(thread)).toHaveLength(1);
  });
});
