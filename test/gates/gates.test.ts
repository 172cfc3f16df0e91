/** Gates of a thread: who decides, and what becomes of the call, or of the turn. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { callKeyOf } from "../../shared/agent/call-key.ts";
import type { EventOf } from "../../shared/agent/events.ts";
import type { Gate } from "../../shared/agent/gates.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, askFiles: true });
});
afterAll(() => sidecar?.close());

const bash = (command: string): Round => ({ tools: [{ name: "Bash", input: { command } }] });
const done = { text: "Done." };
const dirOf = (id: string) => join(sidecar.reposDir, id);
const isMade = (id: string, name: string) => existsSync(join(dirOf(id), name));

async function open(
  id: string,
  gates: Gate[],
  rounds: Round[],
  more: { permissionMode?: string; limits?: object } = {},
): Promise<void> {
  mkdirSync(dirOf(id), { recursive: true });
  const request = { threadId: id, type: "agent", dir: id, command: script("Go", ...rounds) } as const;
  await sidecar.client.createThread({ ...request, agent: { gates, ...more } });
}

/** A command that is in a file of the directory: exit code and words are the test's. */
function decider(id: string, text: string): Gate["by"] {
  mkdirSync(dirOf(id), { recursive: true });
  writeFileSync(join(dirOf(id), "decide.sh"), text);
  return { command: "bash decide.sh" };
}

async function eventsOf<T extends "gate_request" | "gate_response" | "turn_end" | "tool_call_update">(
  id: string,
  type: T,
): Promise<EventOf<T>[]> {
  const events = await transcriptOf(sidecar, id);
  return events.filter((event): event is EventOf<T> => event.type === type);
}

async function askOf(id: string) {
  const ask = await until("an ask", async () => (await sidecar.client.listAsks(id))[0]);
  if (ask.request.type !== "permission_request") throw new Error("it asks something else");
  return { ...ask, request: ask.request };
}

test("a command decides before a call: it gets the call, and what it prints is told", async () => {
  const by = decider(
    "deploy",
    'cat > asked.json; grep -q staging asked.json && exit 0; echo "not on prod"; exit 3',
  );
  const gates: Gate[] = [{ at: "before_step", if: { tool: "Bash", command: "touch *" }, by }];
  await open("deploy", gates, [bash("touch prod"), bash("ls"), bash("touch staging"), done], {
    permissionMode: "acceptEdits",
  });
  await untilStatus(sidecar, "deploy", "idle");
  expect(isMade("deploy", "prod")).toBe(false);
  expect(isMade("deploy", "staging")).toBe(true);
  const [refused, allowed, ...others] = await eventsOf("deploy", "gate_response");
  expect(refused).toMatchObject({ outcome: "fail", text: "not on prod", by: "job:gate" });
  expect(allowed).toMatchObject({
    outcome: "continue",
    callKey: callKeyOf("Bash", { command: "touch staging" }),
  });
  expect(others).toEqual([]);
  expect(JSON.parse(readFileSync(join(dirOf("deploy"), "asked.json"), "utf8"))).toMatchObject({
    at: "before_step",
    tool: "Bash",
    input: { command: "touch staging" },
    hash: callKeyOf("Bash", { command: "touch staging" }),
    threadId: "deploy",
  });
  const told = JSON.stringify(await eventsOf("deploy", "tool_call_update"));
  expect(told).toContain("did not let this call run: not on prod");
  expect(await transcriptOf(sidecar, "deploy")).toContainEqual(
    expect.objectContaining({
      type: "notice",
      title: "Gate: Bash touch prod: fail",
      description: "not on prod",
    }),
  );
});

test("a person decides before a call, once: the engine's own ask about it is the same", async () => {
  const gates: Gate[] = [{ at: "before_step", if: { command: "touch*" }, by: "person", prompt: "Really?" }];
  await open("asked", gates, [bash("touch one"), bash("touch two"), done]);
  const first = await askOf("asked");
  expect(first.request).toMatchObject({
    gate: "before_step",
    description: "Really?",
    title: "Bash touch one",
  });
  expect(first.request.options.map(({ optionId }) => optionId)).toEqual(["continue", "fail", "abort"]);
  await sidecar.client.answerAsk("asked", first.requestId, { optionId: "continue" });
  const second = await until("the next ask", async () =>
    (await sidecar.client.listAsks("asked")).find(({ requestId }) => requestId !== first.requestId),
  );
  expect(second.title).toBe("Bash touch two");
  await sidecar.client.answerAsk("asked", second.requestId, { optionId: "fail", message: "one is enough" });
  await untilStatus(sidecar, "asked", "idle");
  expect([isMade("asked", "one"), isMade("asked", "two")]).toEqual([true, false]);
  expect(JSON.stringify(await eventsOf("asked", "tool_call_update"))).toContain("one is enough");
});

test("a turn's end waits for a check, three tries, and fails then", async () => {
  const by = decider("check", 'echo x >> tries; echo "try $(wc -l < tries) is bad"; exit 1');
  const rounds = ["a", "b", "c", "d", "e"].map((text) => ({ text }));
  await open("check", [{ at: "after_complete", by }], rounds);
  await untilStatus(sidecar, "check", "failed");
  expect(await wordsOf(sidecar, "check")).toEqual(["a", "b", "c", "d"]);
  const outcomes = (await eventsOf("check", "gate_response")).map(({ outcome }) => outcome);
  expect(outcomes).toEqual(["retry", "retry", "retry", "fail"]);
  const ends = await eventsOf("check", "turn_end");
  expect(ends).toHaveLength(1);
  expect(ends[0]).toMatchObject({
    stopReason: "error",
    error: "A gate of the thread let the turn fail: try 4 is bad",
  });
});

test("a check after every second call tells the model what is wrong", async () => {
  const by = decider("lint", 'echo "$(wc -l < log) lines"; exit 1');
  const gates: Gate[] = [{ at: "after_step", if: { every: 2 }, by }];
  const calls = [1, 2, 3, 4, 5].map((n) => bash(`echo ${n} >> log`));
  await open("lint", gates, [...calls, done], { permissionMode: "auto" });
  await untilStatus(sidecar, "lint", "idle");
  const told = await eventsOf("lint", "gate_response");
  expect(told.map(({ outcome, text }) => [outcome, text])).toEqual([
    ["retry", "2 lines"],
    ["retry", "4 lines"],
  ]);
});

test("the shipped gate lints after every fifth call, and the model goes on with what it says", async () => {
  const docs = readFileSync(new URL("../../docs/gates.md", import.meta.url), "utf8");
  const [, example = ""] = /Look after every fifth step:\n\n```yaml\n([^`]+)```/.exec(docs) ?? [];
  expect(example).toContain("every: 5");
  const folder = join(sidecar.folders.home, ".claude", "agents");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "linted.md"),
    `---\nname: linted\ndescription: d\nthreadmux:\n  ${example.trim()}\n---\nWork.\n`,
  );
  const dir = dirOf("linted");
  mkdirSync(dir, { recursive: true });
  const lint = "wc -l < log >> lints; test -e clean || { echo 'log: 1:1 no newline'; exit 1; }";
  writeFileSync(join(dir, "lint.sh"), lint);
  writeFileSync(join(dir, "package.json"), JSON.stringify({ scripts: { lint: "sh lint.sh" } }));
  const calls = Array.from({ length: 12 }, (_, at) =>
    bash(at === 6 ? "touch clean; echo x >> log" : "echo x >> log"),
  );
  await sidecar.client.createThread({
    ...({ threadId: "linted", type: "agent", dir: "linted" } as const),
    command: script("Go", ...calls, done),
    agent: { directive: "linted", permissionMode: "auto" },
  });
  await untilStatus(sidecar, "linted", "idle");
  expect(readFileSync(join(dir, "log"), "utf8").trim().split("\n")).toHaveLength(12);
  // Linted after the fifth and the tenth, and the first time only it has something to say.
  expect(readFileSync(join(dir, "lints"), "utf8").trim().split(/\s+/)).toEqual(["5", "10"]);
  const [bad, good, ...others] = await eventsOf("linted", "gate_response");
  expect(bad).toMatchObject({ outcome: "retry", text: expect.stringContaining("log: 1:1 no newline") });
  expect(good).toMatchObject({ outcome: "continue" });
  expect(others).toEqual([]);
});

test("aborted, the turn is interrupted and what waits is held until somebody writes", async () => {
  await open("aborted", [{ at: "before_step", by: "person" }], [bash("touch it"), done]);
  const ask = await askOf("aborted");
  const { client } = sidecar;
  await client.sendInput("aborted", {
    inputId: "later",
    text: script("Later", { text: "Later." }),
    when: "next_turn",
  });
  await client.answerAsk("aborted", ask.requestId, { optionId: "abort" });
  await until("the end", async () => (await eventsOf("aborted", "turn_end"))[0]);
  expect((await eventsOf("aborted", "turn_end"))[0]).toMatchObject({ stopReason: "cancelled" });
  expect((await client.getThread("aborted")).waiting).toBe(1);
  expect(isMade("aborted", "it")).toBe(false);
  await client.controlAgent("aborted", { control: "resume" });
  await until("the held words", async () => (await wordsOf(sidecar, "aborted")).includes("Later."));
});

test("a failed turn is tried again with what a person says", async () => {
  await open(
    "stuck",
    [{ at: "on_error", by: "person", prompt: "It is stuck." }],
    [{ error: { status: 400, message: "no" } }],
  );
  const ask = await askOf("stuck");
  expect(ask.request).toMatchObject({ gate: "on_error", description: "It is stuck." });
  const message = script("Use the other one", { text: "Better." });
  await sidecar.client.answerAsk("stuck", ask.requestId, { optionId: "retry", message });
  await untilStatus(sidecar, "stuck", "idle");
  expect(await wordsOf(sidecar, "stuck")).toContain("Better.");
});

test("at a limit a command may stop the thread, and only a person lets it go on", async () => {
  const by = decider("budget", "cat > asked.json; test -e more || { echo 'nothing left'; exit 1; }");
  const gates: Gate[] = [
    { at: "on_limit", if: { limit: "calls" }, by },
    { at: "on_limit", by: "person", prompt: "Ask Bob first." },
  ];
  const rounds = [bash("ls"), bash("ls"), done];
  await open("budget", gates, rounds, { limits: { calls: 1 } });
  await until("the stop", async () =>
    (await transcriptOf(sidecar, "budget")).find(
      (event) => event.type === "permission_response" && event.optionId === "stop",
    ),
  );
  expect(await sidecar.client.listAsks("budget")).toEqual([]);
  expect(JSON.parse(readFileSync(join(dirOf("budget"), "asked.json"), "utf8"))).toMatchObject({
    input: { limit: "calls", allowed: 1 },
  });
  writeFileSync(join(dirOf("budget"), "more"), "");
  await sidecar.client.controlAgent("budget", { control: "limit", limits: { calls: 2 } });
  await sidecar.client.sendInput("budget", { inputId: "on", text: script("On", bash("ls"), done) });
  const ask = await askOf("budget");
  expect(ask.request.limit).toMatchObject({ name: "calls", allowed: 2 });
  expect(ask.request.description).toMatch(/^Ask Bob first\./);
});
