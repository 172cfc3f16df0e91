/** The engine `acp` as people have it: threads of a sidecar, their asks and tools over its API, its sandbox. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CreateRequest } from "../../shared/api.ts";
import { findSandbox } from "../../vm/agents/sandbox.ts";
import { buildAcpAgent, effectsIn, heardBy, notesOf, told } from "../support/acp.ts";
import { STAND_IN_CONFIG, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const place = makeFolder();
const sandbox = await findSandbox("workspace", place.path, {
  PATH: process.env["PATH"] ?? "",
  HOME: place.path,
});
place.remove();

let agent: Awaited<ReturnType<typeof buildAcpAgent>>;
let sidecar: TestSidecar;
beforeAll(async () => {
  agent = await buildAcpAgent();
  agent.program("codex-acp", "--modes=agent,workspace-write");
  const folders = makeSidecarFolders();
  folders.env["PATH"] = `${agent.path}:${folders.env["PATH"]}`;
  sidecar = await startSidecar(STAND_IN_CONFIG, { folders });
});
afterAll(async () => {
  await sidecar?.close();
  agent?.remove();
});

const begin = async (threadId: string, text: string, more: CreateRequest["agent"] = {}) => {
  mkdirSync(join(sidecar.reposDir, threadId), { recursive: true });
  const asked = { engine: "acp" as const, program: "codex", ...more };
  await sidecar.client.createThread({ threadId, type: "agent", dir: threadId, command: text, agent: asked });
};
const dirOf = (threadId: string) => join(sidecar.reposDir, threadId);
const askOf = async (threadId: string) => {
  await until("an ask", async () => (await sidecar.client.listAsks(threadId)).length === 1);
  const [ask] = await sidecar.client.listAsks(threadId);
  return ask?.requestId ?? "";
};

test("codex is found by its short name, has the thread's tools, and answers", async () => {
  await begin("hello", told("hi", { text: "One." }));
  const thread = await untilStatus(sidecar, "hello", "idle");
  expect(thread.engine).toBe("acp");
  expect(await wordsOf(sidecar, "hello")).toEqual(["One."]);
  const opened = notesOf(sidecar.folders).find((note) => note.startsWith("new ")) ?? "";
  const [server] = JSON.parse(opened.slice(4));
  expect(server).toMatchObject({ type: "http", name: "threadmux", url: `${sidecar.url}/mcp` });
  const [{ name, value }] = server.headers;
  const call = (headers: Record<string, string>) =>
    fetch(server.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
    });
  expect(await (await call({ [name]: value })).text()).toContain("wait_thread");
  expect((await call({ [name]: "Bearer hello.x" })).status).toBe(401);
});

test("an ask is answered over the API, and the call runs once; a stop ends the turn", async () => {
  await begin("ask", told("one", { call: "rm x", ask: true }, { call: "slow", waitFor: "never" }));
  const requestId = await askOf("ask");
  expect(effectsIn(dirOf("ask"))).toEqual([]);
  await sidecar.client.answerAsk("ask", requestId, { optionId: "once" });
  await until("the call to have run", () => effectsIn(dirOf("ask")).length === 1);
  await sidecar.client.controlAgent("ask", { control: "interrupt" });
  await untilStatus(sidecar, "ask", "idle");
  const events = await transcriptOf(sidecar, "ask");
  expect(events.filter(({ type }) => type === "turn_end")).toMatchObject([{ stopReason: "cancelled" }]);
  expect(effectsIn(dirOf("ask"))).toEqual(["rm x"]);
});

test("a sidecar that is started again loses nothing of a turn and its ask", async () => {
  await begin("again", told("one", { call: "rm y", ask: true }, { text: "done" }));
  const requestId = await askOf("again");
  await sidecar.restart();
  await sidecar.client.answerAsk("again", requestId, { optionId: "always" });
  await untilStatus(sidecar, "again", "idle");
  expect(effectsIn(dirOf("again"))).toEqual(["rm y"]);
  expect(heardBy(sidecar.folders).filter((text) => text.includes("rm y"))).toHaveLength(1);
  expect(await wordsOf(sidecar, "again")).toEqual(["done"]);
});

test.each([
  ["model", { model: "gpt" }],
  ["systemPrompt", { systemPrompt: "x" }],
  ["permissionMode", { permissionMode: "yolo" }],
  ["limits.spendUsd", { limits: { spendUsd: 1 } }],
  ["args", { args: ["--approval-mode", "yolo"] }],
  ["args", { args: ["-c", "approval_policy=never"] }],
])("agent.%s is refused by its name", async (field, more) => {
  expect(await refusal(begin("no", "hi", more))).toMatchObject({
    code: "unsupported",
    message: expect.stringContaining(`agent.${field}`),
  });
});

test("an agent that is not there is named, as its program", async () => {
  expect(await refusal(begin("no", "hi", { program: "opencode-of-nobody" }))).toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("opencode-of-nobody"),
  });
});

describe.runIf(sandbox.sandbox !== undefined)("in the sandbox", () => {
  test("it works in its directory, sees nothing else, and keeps its conversation", async () => {
    const folders = makeSidecarFolders();
    // As npm installs a program: a link on PATH, which leads to a folder out of sight.
    const bin = join(folders.home, "links");
    mkdirSync(bin);
    symlinkSync(agent.program("codex-acp", "--modes=agent,workspace-write"), join(bin, "codex-acp"));
    folders.env["PATH"] = `${bin}:${folders.env["PATH"]}`;
    const timeouts = { idleSeconds: 1, askParkMinutes: 60, lockSeconds: 30 };
    const config = {
      ...STAND_IN_CONFIG,
      sandbox: "workspace" as const,
      agent: { program: "codex", args: [], engine: "acp" as const, timeouts },
    };
    const own = await startSidecar(config, { folders });
    try {
      writeFileSync(join(folders.home, "secret"), "of mine");
      const reads = [join(folders.stateDir, "token"), join(folders.home, "secret")].map((read) => ({
        read,
      }));
      mkdirSync(join(own.reposDir, "in"));
      const command = told("one", { call: "touch a" }, ...reads);
      await own.client.createThread({ threadId: "in", type: "agent", dir: "in", command });
      await untilStatus(own, "in", "idle");
      expect(effectsIn(join(own.reposDir, "in"))).toEqual(["touch a"]);
      expect(await wordsOf(own, "in")).toEqual(["nothing therenothing there"]);
      await until("the engine to rest", async () =>
        (await transcriptOf(own, "in")).some(({ type }) => type === "engine_end"),
      );
      await own.client.sendInput("in", { text: told("two", { text: "again" }) });
      await until("the second answer", async () => (await wordsOf(own, "in")).includes("again"));
      const starts = (await transcriptOf(own, "in")).filter((event) => event.type === "engine_start");
      expect(starts.map(({ resumed }) => resumed)).toEqual([false, true]);
    } finally {
      await own.close();
    }
  });
});

test("a thread gets the name that its agent has for it after its first answer, unless a person has named it", async () => {
  const named = (title: string) => ({ update: { sessionUpdate: "session_info_update", title } });
  const titleOf = async (id: string) => (await sidecar.client.getThread(id)).title;
  const script = told(
    "look",
    named("New session - 2026"),
    named("Login \u202efixed\n"),
    { waitFor: "go" },
    { text: "One." },
  );
  await begin("named", script);
  await until("its name", async () =>
    (await transcriptOf(sidecar, "named")).some((event) => event.type === "session_info_update"),
  );
  const made = await titleOf("named");
  expect(made).toMatch(/^named — look/);
  writeFileSync(join(dirOf("named"), "go"), "");
  await untilStatus(sidecar, "named", "idle");
  expect(await titleOf("named")).toBe("Login fixed");
  await sidecar.client.sendInput("named", { text: told("more", named("Login and tests"), { text: "Two." }) });
  await until("the newer name", async () => (await titleOf("named")) === "Login and tests");
  await sidecar.client.setTitle("named", "Mine");
  await sidecar.client.sendInput("named", { text: told("more", named("Theirs"), { text: "Three." }) });
  await until("the third answer", async () => (await wordsOf(sidecar, "named")).includes("Three."));
  expect(await titleOf("named")).toBe("Mine");
});
