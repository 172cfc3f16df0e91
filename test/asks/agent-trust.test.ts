/** The trust question: what a directory brings runs only if a person has said so. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { AgentThread, DEMO, says } from "../support/agent-threads.ts";
import { openAgent, script, standIn, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { bringHooks, noting } from "../support/trust.ts";
import { until } from "../support/wait.ts";

const isWithout = (start: string) => start.includes("--setting-sources user");

describe("a runner", () => {
  let tools: ReturnType<typeof makeFolder>;
  let thread: AgentThread;
  let starts: () => string[];

  beforeEach(() => {
    tools = makeFolder();
    const program = noting(tools.path, DEMO.program, DEMO.args);
    starts = program.starts;
    thread = new AgentThread({
      program: { program: program.file, args: [], env: {} },
      timeouts: { idleSeconds: 1 },
    });
    bringHooks(thread.dir);
  });
  afterEach(async () => {
    await thread.close();
    tools.remove();
  });

  const ask = async (count = 1) => {
    thread.start();
    const request = await thread.event("permission_request", count);
    await thread.ended();
    return request;
  };
  const turn = async (count: number) => {
    thread.start();
    await thread.event("turn_end", count);
    await thread.ended();
  };

  // Promise: S9
  test("asks before anything is started, waits without a process, and goes on when it is trusted", async () => {
    thread.write(says("hi", { text: "Hello." }));
    const request = await ask();
    expect(request).toMatchObject({
      toolName: "Trust",
      trust: true,
      title: `Trust ${thread.dir}? It brings 1 hook, 1 MCP server`,
      options: [
        { optionId: "trust", name: "Trust" },
        { optionId: "without", name: "Run without them" },
      ],
    });
    expect(request.description).toContain(".claude/settings.json: hook SessionStart: touch ");
    expect(request.description).toContain("CLAUDE.md");
    expect(statusOf(thread.fold())).toBe("waiting");
    expect(starts()).toEqual([]);
    thread.write(says("and", { text: "More." }));
    thread.start();
    await until("the second message", () => thread.of("user_message").length === 2);
    expect(await thread.ended()).toBe(0);
    expect(thread.of("permission_request")).toHaveLength(1);
    expect(starts()).toEqual([]);
    thread.answer(request.requestId, "trust");
    await turn(1);
    expect(starts().filter(isWithout)).toEqual([]);
    thread.write(says("again", { text: "Again." }));
    await turn(2);
    expect(thread.of("permission_request")).toHaveLength(1);
  });

  test("runs without them, says so once, and remembers it", async () => {
    thread.write(says("hi", { text: "Hello." }));
    const { requestId } = await ask();
    thread.answer(requestId, "without");
    await turn(1);
    thread.write(says("again", { text: "Again." }));
    await turn(2);
    const engines = starts().filter((start) => !start.endsWith("--version"));
    expect(engines).toHaveLength(2);
    expect(engines.filter(isWithout)).toHaveLength(2);
    expect(thread.of("notice").map(({ title }) => title)).toEqual([
      "The agent runs without what the directory brings",
    ]);
  });

  // Promise: S9
  test("asks again when a file has changed, also between the question and its answer", async () => {
    thread.write(says("hi", { text: "Hello." }));
    const first = await ask();
    writeFileSync(join(thread.dir, ".claude", "settings.local.json"), '{"env":{"A":"b"}}');
    thread.answer(first.requestId, "trust");
    const second = await ask(2);
    expect(second.title).toContain("1 setting");
    expect(starts()).toEqual([]);
    thread.answer(second.requestId, "trust");
    await turn(1);
    rmSync(join(thread.dir, ".claude", "settings.local.json"));
    thread.write(says("again", { text: "Again." }));
    await turn(2); // what it brings now was trusted before: the first answer holds
    writeFileSync(join(thread.dir, ".mcp.json"), "{}");
    thread.write(says("changed", { text: "No." }));
    await ask(3);
    expect(starts().filter((start) => !start.endsWith("--version"))).toHaveLength(2);
  });

  // Promise: S9
  test("tells nothing to an engine that has started on what changes while it looks", async () => {
    thread.write(says("hi", { text: "Hello." }));
    const { requestId } = await ask();
    const changing = noting(tools.path, "sh", ["-c", `printf x >> '${thread.dir}/.mcp.json'; echo 2.1.330`]);
    expect(changing.file).toBeTruthy(); // the same file: each start now changes what was looked at
    thread.answer(requestId, "trust");
    await ask(2);
    // The program comes up beside the check of its version; it is gone again before it was told to open.
    expect(starts().length).toBeLessThanOrEqual(2);
    expect(thread.of("engine_start")).toEqual([]);
  });

  test("a kill while it asks closes the question, and nothing was started", async () => {
    thread.write("hi");
    await ask();
    thread.control("kill");
    thread.start();
    await thread.event("permission_response");
    await thread.ended();
    expect(thread.fold()).toMatchObject({ isKilled: true, asks: [] });
    expect(starts()).toEqual([]);
  });

  test("is not asked if the person's own arguments leave out what a directory brings", async () => {
    const own = noting(tools.path, DEMO.program, DEMO.args);
    const program = { program: own.file, args: ["--setting-sources", "user"], env: {} };
    const other = new AgentThread({ program, timeouts: { idleSeconds: 1 } });
    try {
      bringHooks(other.dir);
      other.write(says("hi", { text: "Hello." }));
      other.start();
      await other.event("turn_end");
      expect(other.of("permission_request")).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

describe("through the sidecar", () => {
  let tools: ReturnType<typeof makeFolder>;
  let sidecar: TestSidecar;
  let starts: () => string[];

  beforeEach(async () => {
    tools = makeFolder();
    const program = noting(tools.path, standIn().program);
    starts = program.starts;
    sidecar = await startSidecar({
      maxThreads: 100,
      agent: { ...standIn({ idleSeconds: 1 }), program: program.file },
    });
    mkdirSync(join(sidecar.reposDir, "app"));
    bringHooks(join(sidecar.reposDir, "app"));
  });
  afterEach(async () => {
    await sidecar?.close();
    tools.remove();
  });

  const open = (threadId: string) =>
    sidecar.client.createThread({
      threadId,
      type: "agent",
      dir: "app",
      command: script("hi", { text: `I am ${threadId}.` }),
    });
  const askOf = (threadId: string) =>
    until(`an ask of ${threadId}`, async () => (await sidecar.client.listAsks(threadId))[0]);
  const parked = (threadId: string) =>
    until("no runner", async () => !(await sidecar.client.getThread(threadId)).processRunning);
  const answer = (threadId: string, requestId: string, optionId: string) =>
    sidecar.client.answerAsk(threadId, requestId, { optionId });

  test("it is an ask like any other, and survives restarts; an answer counts for all who ask the same", async () => {
    await open("one");
    await open("two");
    const ask = await askOf("one");
    await askOf("two");
    expect(ask).toMatchObject({ kind: "permission", call: null, request: { toolName: "Trust" } });
    expect(await sidecar.client.getThread("one")).toMatchObject({
      status: "waiting",
      awaiting: "permission",
    });
    await parked("one");
    await sidecar.restart();
    expect((await askOf("one")).requestId).toBe(ask.requestId);
    expect(await sidecar.client.getThread("one")).toMatchObject({ status: "waiting", processRunning: false });
    expect(await refusal(answer("one", ask.requestId, "once"))).toMatchObject({
      code: "invalid_request",
      message: "optionId: must be one of trust, without.",
    });
    expect(starts()).toEqual([]);
    await answer("one", ask.requestId, "trust");
    for (const name of ["one", "two"]) {
      await untilStatus(sidecar, name, "idle");
      expect(await wordsOf(sidecar, name)).toEqual([`I am ${name}.`]);
    }
    expect(await refusal(answer("one", ask.requestId, "trust"))).toMatchObject({ code: "already_answered" });
    await open("three");
    await untilStatus(sidecar, "three", "idle");
    const events = await transcriptOf(sidecar, "three");
    expect(events.filter(({ type }) => type === "permission_request")).toEqual([]);
    expect(readdirSync(join(sidecar.stateDir, "trust"))).toHaveLength(1);
    expect(starts().filter(isWithout)).toEqual([]);
  });

  test("a directory that brings nothing is not asked about; a kill takes the question with it", async () => {
    await openAgent(sidecar, "plain", script("hi", { text: "Plain." }));
    await untilStatus(sidecar, "plain", "idle");
    await open("killed");
    const { requestId } = await askOf("killed");
    await sidecar.client.killThread("killed");
    expect(await sidecar.client.listAsks()).toEqual([]);
    expect(await refusal(answer("killed", requestId, "trust"))).toMatchObject({ code: "thread_ended" });
    expect(existsSync(join(sidecar.stateDir, "trust"))).toBe(false);
  });
});
