/** A thread whose engine is `acp`: a test for each ability that the engine declares, and no other. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Capabilities } from "../../shared/agent/engines/declaration.ts";
import { ENGINES } from "../../shared/agent/engines/engines.ts";
import type { EventOf, EventType } from "../../shared/agent/events.ts";
import type { CreateRequest } from "../../shared/api.ts";
import { buildAcpAgent, effectsIn, heardBy, notesOf, told } from "../support/acp.ts";
import { STAND_IN_CONFIG, standIn, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const PNG = new Uint8Array(
  Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  ),
);

let agent: Awaited<ReturnType<typeof buildAcpAgent>>;
let sidecar: TestSidecar;
beforeAll(async () => {
  agent = await buildAcpAgent();
  agent.program("codex-acp", "--modes=agent,read-only,workspace-write", "--steer");
  const folders = makeSidecarFolders();
  folders.env["PATH"] = `${agent.path}:${folders.env["PATH"]}`;
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, agent: standIn({ idleSeconds: 2 }) }, { folders });
});
afterAll(async () => {
  await sidecar?.close();
  agent?.remove();
});

const dirOf = (name: string) => join(sidecar.reposDir, name);

async function begin(threadId: string, text: string, more: CreateRequest["agent"] = {}, dir = threadId) {
  mkdirSync(dirOf(dir), { recursive: true });
  const asked = { engine: "acp" as const, program: "codex", ...more };
  await sidecar.client.createThread({ threadId, type: "agent", dir, command: text, agent: asked });
}

async function eventsOf<T extends EventType>(threadId: string, type: T): Promise<EventOf<T>[]> {
  return (await transcriptOf(sidecar, threadId)).filter((event): event is EventOf<T> => event.type === type);
}

async function allow(threadId: string): Promise<void> {
  const asks = async () => await sidecar.client.listAsks(threadId);
  const [ask] = await until(`an ask of ${threadId}`, async () => {
    const open = await asks();
    return open.length > 0 && open;
  });
  await sidecar.client.answerAsk(threadId, ask?.requestId ?? "", { optionId: "once" });
}

/** A test of each ability, by its name. */
const ABILITIES: Partial<Record<keyof Capabilities, () => Promise<void>>> = {
  steps: async () => {
    await begin("steps", told("go", { call: "one" }, { call: "two" }));
    await untilStatus(sidecar, "steps", "idle");
    const ends = await eventsOf("steps", "tool_call_update");
    expect(ends.map(({ status }) => status)).toEqual([
      "in_progress",
      "completed",
      "in_progress",
      "completed",
    ]);
  },
  asks: async () => {
    await begin("asks", told("go", { call: "rm x", ask: true }));
    await until("an ask", async () => (await sidecar.client.listAsks("asks")).length === 1);
    expect(effectsIn(dirOf("asks"))).toEqual([]);
    await allow("asks");
    await untilStatus(sidecar, "asks", "idle");
    expect(effectsIn(dirOf("asks"))).toEqual(["rm x"]);
  },
  modes: async () => {
    await begin("modes", told("go", { text: "One." }), { permissionMode: "read-only" });
    await untilStatus(sidecar, "modes", "idle");
    expect(await eventsOf("modes", "engine_start")).toMatchObject([{ modeId: "read-only" }]);
    expect(notesOf(sidecar.folders)).toContain("mode read-only");
  },
  undo: async () => {
    mkdirSync(dirOf("undo"), { recursive: true });
    writeFileSync(join(dirOf("undo"), "kept"), "1\n");
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: dirOf("undo") });
    git("init", "-q");
    git("add", "-A");
    git("commit", "-qm", "first");
    await begin("undo", told("go", { call: "touch a" }));
    await untilStatus(sidecar, "undo", "idle");
    expect(effectsIn(dirOf("undo"))).toEqual(["touch a"]);
    const [end] = await eventsOf("undo", "turn_end");
    await sidecar.client.controlAgent("undo", { control: "undo", turnId: end?.turnId ?? "" });
    await until("the undo", async () => (await eventsOf("undo", "undo")).length === 1);
    expect(existsSync(join(dirOf("undo"), "effects"))).toBe(false);
    expect(existsSync(join(dirOf("undo"), "kept"))).toBe(true);
  },
  resume: async () => {
    await begin("resume", told("one is 42", { text: "One." }));
    await until("the engine to rest", async () => (await eventsOf("resume", "engine_end")).length === 1);
    await sidecar.client.sendInput("resume", { text: told("two", { text: "Two." }) });
    await until("the second answer", async () => (await wordsOf(sidecar, "resume")).includes("Two."));
    expect((await eventsOf("resume", "engine_start")).map(({ resumed }) => resumed)).toEqual([false, true]);
    expect(heardBy(sidecar.folders).filter((text) => text.includes("one is 42"))).toHaveLength(1);
  },
  steering: async () => {
    await begin("steering", told("go", { call: "slow", waitFor: "heard" }, { text: "Done." }));
    await until("the call", async () => (await eventsOf("steering", "tool_call")).length === 1);
    await sidecar.client.sendInput("steering", { text: "more words" });
    await until("it to hear", () => heardBy(sidecar.folders).some((text) => text.includes("more words")));
    writeFileSync(join(dirOf("steering"), "heard"), "");
    await untilStatus(sidecar, "steering", "idle");
    expect(await eventsOf("steering", "turn_end")).toHaveLength(1);
  },
  tools: async () => {
    const prompt = told("your part", { text: "My part is done." });
    const spawn = { tool: "spawn_thread", input: { prompt, title: "a part" } };
    // An agent that lost the answer calls again: there is one child all the same.
    await begin("tools", told("go", spawn, spawn));
    await until("its end", async () => (await eventsOf("tools", "turn_end")).length === 1, {
      timeoutMs: 60_000,
    });
    const children = new Set((await eventsOf("tools", "thread_spawned")).map(({ threadId }) => threadId));
    expect(children.size).toBe(1);
    const [childId = ""] = children;
    expect((await wordsOf(sidecar, "tools")).join()).toContain("My part is done.");
    expect((await sidecar.client.getThread(childId)).engine).toBe("acp");
  },
  images: async () => {
    await begin("images", told("go", { text: "One." }));
    await untilStatus(sidecar, "images", "idle");
    const { name } = await sidecar.client.attach("images", "shot.png", PNG);
    await sidecar.client.sendInput("images", { text: "look at this", attachments: [name] });
    const seen = () => heardBy(sidecar.folders).find((text) => text.includes("look at this"));
    expect(await until("it to see", seen)).toContain("[image]");
  },
  params: async () => {
    await begin("params", told("go", { hang: true }), { params: { callSeconds: 1 } });
    await until("the turn to end", async () => (await eventsOf("params", "turn_end")).length === 1);
    expect(await eventsOf("params", "turn_end")).toMatchObject([
      { stopReason: "error", error: expect.stringContaining("said nothing for 1 second") },
    ]);
  },
  gates: async () => {
    const gates = [{ at: "on_error" as const, by: "person" as const, prompt: "It is stuck." }];
    await begin("gates", told("go", { hang: true }), { params: { callSeconds: 1 }, gates });
    const ask = await until("an ask", async () => (await sidecar.client.listAsks("gates"))[0]);
    expect(ask.request).toMatchObject({ gate: "on_error", description: "It is stuck." });
    const message = told("again", { text: "Better." });
    await sidecar.client.answerAsk("gates", ask.requestId, { optionId: "retry", message });
    await until("its answer", async () => (await wordsOf(sidecar, "gates")).includes("Better."));
  },
};

const declared = Object.entries(ENGINES.acp.capabilities)
  .filter(([, value]) => (Array.isArray(value) ? value.length > 0 : Boolean(value)))
  .map(([name]) => name);

test("each ability that is declared has a test here, and no other", () => {
  expect(Object.keys(ABILITIES).sort()).toEqual(declared.sort());
});

describe("an ability that is declared", () => {
  test.each(Object.entries(ABILITIES))("%s", async (_, shown) => await shown());
});

test("what a person says with a denial reaches the agent, once", async () => {
  await begin("denied", told("go", { call: "rm y", ask: true }, { waitFor: "told" }, { text: "Then not." }));
  const [ask] = await until("an ask", async () => {
    const open = await sidecar.client.listAsks("denied");
    return open.length > 0 && open;
  });
  const denial = { optionId: "no", message: "keep y" };
  await sidecar.client.answerAsk("denied", ask?.requestId ?? "", denial);
  const hears = () => heardBy(sidecar.folders).filter((text) => text.includes("keep y"));
  expect(await until("it to hear", () => hears().length > 0 && hears())).toMatchObject([
    expect.stringContaining("rm y: denied. keep y"),
  ]);
  writeFileSync(join(dirOf("denied"), "told"), "");
  await untilStatus(sidecar, "denied", "idle");
  expect(effectsIn(dirOf("denied"))).toEqual([]);
  expect(await wordsOf(sidecar, "denied")).toEqual(["Then not."]);
});

test("a stop ends the turn, and its ask with it", async () => {
  await begin("stop", told("go", { call: "rm x", ask: true }, { text: "Never." }));
  await until("an ask", async () => (await sidecar.client.listAsks("stop")).length === 1);
  await sidecar.client.controlAgent("stop", { control: "interrupt" });
  await untilStatus(sidecar, "stop", "idle");
  expect(await sidecar.client.listAsks("stop")).toEqual([]);
  expect(await eventsOf("stop", "turn_end")).toMatchObject([{ stopReason: "cancelled" }]);
  expect(await wordsOf(sidecar, "stop")).toEqual([]);
});

test("two agents that are allowed to edit one file do it one after the other", async () => {
  const edit = (call: string, waitFor: string) =>
    told("go", { call, ask: true, kind: "edit", path: "f", waitFor });
  await begin("first", edit("first edit", "go-first"), {}, "shop");
  await allow("first");
  await until("the first to edit", async () => (await eventsOf("first", "tool_call_update")).length > 0);
  await begin("second", edit("second edit", "go-second"), {}, "shop");
  writeFileSync(join(dirOf("shop"), "go-second"), "");
  await allow("second");
  await until("the second to wait", async () =>
    (await eventsOf("second", "step_start")).some(({ kind }) => kind === "lock"),
  );
  expect(effectsIn(dirOf("shop"))).toEqual([]);
  writeFileSync(join(dirOf("shop"), "go-first"), "");
  for (const threadId of ["first", "second"]) await untilStatus(sidecar, threadId, "idle");
  expect(effectsIn(dirOf("shop"))).toEqual(["first edit", "second edit"]);
});
