/** The engine `own` behind a sidecar, in the sandbox that this machine makes: tools, children, results, bad settings. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { CreateRequest } from "../../shared/api.ts";
import { type Model, startModel } from "../agents/model.ts";
import { BYPASS_CONFIG, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { bash, envOf } from "../support/own-agent.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const folders = makeSidecarFolders();
let model: Model;
let sidecar: TestSidecar;
beforeAll(async () => {
  model = await startModel();
  const threadEnv = {
    PATH: folders.env["PATH"] ?? "",
    HOME: folders.home,
    ...envOf("anthropic", model.url),
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    MINE_BASE_URL: model.url,
  };
  sidecar = await startSidecar({ ...BYPASS_CONFIG, threadEnv, sandbox: "state" }, { folders });
});
beforeEach(() => model.requests.splice(0));
afterAll(async () => {
  await sidecar?.close();
  await model?.close();
});

const begin = (threadId: string, command: string, agent: CreateRequest["agent"] = {}) => {
  mkdirSync(join(sidecar.reposDir, threadId), { recursive: true });
  const chosen = { engine: "own" as const, ...agent };
  return sidecar.client.createThread({ threadId, type: "agent", dir: threadId, command, agent: chosen });
};
const ends = async (threadId: string) =>
  (await transcriptOf(sidecar, threadId)).flatMap((event) => (event.type === "turn_end" ? [event] : []));

test("it asks, runs, remembers over restarts, and keeps its key from commands and files", async () => {
  const rounds = [{ tools: [bash("echo key: $ANTHROPIC_API_KEY.; echo it > made")] }, { text: "Made." }];
  await begin("main", script("make it", ...rounds));
  await until("the ask", async () => (await sidecar.client.listAsks("main")).length === 1);
  const [ask] = await sidecar.client.listAsks("main");
  await sidecar.client.answerAsk("main", ask?.requestId ?? "", { optionId: "once" });
  await untilStatus(sidecar, "main", "idle");
  expect(await wordsOf(sidecar, "main")).toEqual(["Made."]);
  expect(readFileSync(join(sidecar.reposDir, "main", "made"), "utf8")).toBe("it\n");
  expect(model.timesInContext("key: .")).toBe(1);
  const folder = join(folders.stateDir, "threads", "main");
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(3);
  for (const { name } of files)
    expect(readFileSync(join(folder, name), "utf8"), name).not.toContain("a-dummy-key");
});

test("a child is spawned with the thread's own tools, and its result comes back", async () => {
  const prompt = script("Your part", { text: "My part is done." });
  const spawn = { name: "mcp__threadmux__spawn_thread", input: { prompt, title: "a part" } };
  await begin("parent", script("Split it", { tools: [spawn] }, { text: "All done." }));
  await untilStatus(sidecar, "parent", "idle");
  expect(await wordsOf(sidecar, "parent")).toEqual(["All done."]);
  const results = (await transcriptOf(sidecar, "parent")).filter(({ type }) => type === "tool_call_update");
  expect(JSON.stringify(results)).toContain("My part is done.");
  const spawned = (await transcriptOf(sidecar, "parent")).find(({ type }) => type === "thread_spawned");
  expect(spawned).toMatchObject({ toolCallId: expect.stringMatching(/^c1-/) });
});

test("a result is held to its schema: a wrong one is told, none is asked for", async () => {
  const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const give = (input: Record<string, unknown>) => ({ tools: [{ name: "output", input }] });
  await begin("result", script("count", give({ n: "x" }), { text: "I forgot." }, give({ n: 3 })), {
    outputSchema: schema,
  });
  await untilStatus(sidecar, "result", "idle");
  expect(await ends("result")).toMatchObject([{ stopReason: "end_turn", result: { n: 3 }, output: "valid" }]);
  expect(model.timesInContext("does not fit the schema")).toBe(1);
  await begin("none", script("count", { text: "No." }, { text: "No." }, { text: "No." }), {
    outputSchema: { type: "number" },
  });
  await untilStatus(sidecar, "none", "idle");
  expect(await ends("none")).toMatchObject([{ output: "invalid_output" }]);
});

test("thoughts go back as they came, and to no other model; the conversation goes on under that", async () => {
  const params = { thinking: "low", maxOutputTokens: 777 } as const;
  await begin("params", script("hm", { thinking: "Deeply.", text: "Yes." }), {
    params,
    systemPrompt: "Be kind.",
  });
  await untilStatus(sidecar, "params", "idle");
  const asked = { max_tokens: 777, thinking: { type: "adaptive" }, output_config: { effort: "low" } };
  expect(model.requests[0]).toMatchObject(asked);
  expect(JSON.stringify(model.requests[0]?.system)).toContain("Be kind.");
  await sidecar.client.sendInput("params", { text: script("again", { text: "Yes again." }) });
  await until("the second answer", async () => (await ends("params")).length === 2);
  const thought = { type: "thinking", thinking: "Deeply.", signature: "c2ln" };
  expect(model.requests[1]?.messages[1]?.content).toMatchObject([thought, { type: "text", text: "Yes." }]);
  await sidecar.client.controlAgent("params", { control: "model", model: "openai-compatible/local" });
  await sidecar.client.sendInput("params", { text: script("more", { text: "Other words." }) });
  await until("the third answer", async () => (await ends("params")).length === 3);
  const last = model.requests[2];
  expect(last).toMatchObject({ model: "local", reasoning_effort: "low" });
  expect(last?.messages.map(({ role }) => role)).toEqual([
    "system",
    "user",
    "assistant",
    "user",
    "assistant",
    "user",
  ]);
  expect(JSON.stringify(last?.messages)).not.toContain("reasoning");
  expect(await wordsOf(sidecar, "params")).toEqual(["Yes.", "Yes again.", "Other words."]);
});

test("what the directory tells agents is asked about, and reaches the model if a person trusts it", async () => {
  for (const [threadId, optionId] of [
    ["trusted", "trust"],
    ["untrusted", "without"],
  ] as const) {
    mkdirSync(join(sidecar.reposDir, threadId), { recursive: true });
    writeFileSync(join(sidecar.reposDir, threadId, "AGENTS.md"), `Speak like ${threadId}.\n`);
    await begin(threadId, script("hello", { text: "Hello." }));
    const ask = await until("the trust question", async () => (await sidecar.client.listAsks(threadId))[0]);
    expect(ask.request).toMatchObject({
      trust: true,
      title: expect.stringContaining("It brings 1 instruction file"),
      description: expect.stringContaining(`Speak like ${threadId}.`),
    });
    expect(model.requests).toEqual([]);
    await sidecar.client.answerAsk(threadId, ask.requestId, { optionId });
    await until("the answer", async () => (await ends(threadId)).length === 1);
    const isTold = JSON.stringify(model.requests[0]?.system).includes("Speak like trusted.");
    expect(isTold).toBe(threadId === "trusted");
    expect(JSON.stringify(model.requests)).not.toContain("Speak like untrusted.");
    model.requests.splice(0);
  }
});

test("a provider of a person's own speaks as its file says; a file without a part is refused by that part", async () => {
  const ours = new URL("../../agent/engines/own/providers/openai-compatible.json", import.meta.url);
  const file = JSON.parse(readFileSync(ours, "utf8"));
  Object.assign(file, { title: "Mine", key: "MINE_API_KEY", address: "MINE_BASE_URL" });
  file.messages.system.content = "[as mine wants it] {{text}}";
  const folder = join(folders.stateDir, "providers");
  mkdirSync(folder);
  const put = () => writeFileSync(join(folder, "mine.json"), JSON.stringify(file));
  put();
  await begin("mine", script("hello", { text: "Hello." }), { model: "mine/local" });
  await untilStatus(sidecar, "mine", "idle");
  expect(model.requests[0]?.messages[0]?.content).toMatch(/^\[as mine wants it\] You are a coding agent/);
  delete file.messages.call;
  put();
  await begin("less", script("hello", { text: "Hello." }), { model: "mine/local" });
  await untilStatus(sidecar, "less", "failed");
  expect(await ends("less")).toMatchObject([
    { stopReason: "error", error: "STATE_DIR/providers/mine.json: messages.call is missing." },
  ]);
  expect(model.requests).toHaveLength(1);
});
