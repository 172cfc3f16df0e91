import { describe, expect, test } from "vitest";
import { ENGINE_NAMES, type EngineName } from "../../shared/agent/engines/engines.ts";
import { createRequestSchema } from "../../shared/api.ts";
import { ConfigError } from "../../shared/config.ts";
import { AppError } from "../../shared/errors.ts";
import { parseVmConfig } from "../config.ts";
import { type AskedLaunch, chooseLaunch, type LaunchOptions } from "./launch.ts";
import { refuseUnsupported } from "./support.ts";

const timeouts = { idleSeconds: 1, askParkMinutes: 1, lockSeconds: 1 };
const settingsOf = (engine: EngineName, more: Partial<LaunchOptions> = {}): LaunchOptions => ({
  engine,
  program: engine === "demo" ? "demo" : `/opt/${engine}`,
  args: ["--usual"],
  timeouts,
  ...more,
});
const choose = (asked: AskedLaunch, settings: LaunchOptions) => chooseLaunch(asked, settings, "/own");
const refusalOf = (act: () => unknown) => {
  try {
    act();
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, field: error.message.split(": ")[0] };
    throw error;
  }
  return undefined;
};

test("the default engine has the program and the arguments of the settings", () => {
  expect(choose({}, settingsOf("claude"))).toEqual({
    engine: "claude",
    program: "/opt/claude",
    args: ["--usual"],
  });
  expect(choose({ engine: "command" }, settingsOf("command"))).toMatchObject({ program: "/opt/command" });
  expect(choose({}, settingsOf("demo"))).toEqual({
    engine: "demo",
    program: process.execPath,
    args: ["/own/demo/main.cjs", "--usual"],
  });
});

test("another engine has neither: it has its own program, or the one that is named", () => {
  expect(choose({ engine: "claude" }, settingsOf("command"))).toEqual({
    engine: "claude",
    program: "claude",
    args: [],
  });
  expect(choose({ engine: "demo" }, settingsOf("claude"))).toMatchObject({ args: ["/own/demo/main.cjs"] });
  const asked = { engine: "command" as const, program: "llm", args: ["-m", "x"] };
  expect(choose(asked, settingsOf("claude"))).toEqual(asked);
  expect(choose({ engine: "command", program: "llm" }, settingsOf("command"))).toMatchObject({ args: [] });
});

test.each<[string, AskedLaunch]>([
  ["agent.program", { engine: "command" }],
  ["agent.program", { engine: "claude", program: "/x" }],
  ["agent.program", { engine: "demo", program: "/x" }],
  ["agent.program", { program: "/x" }],
  ["agent.args", { engine: "demo", args: ["--x"] }],
  ["agent.args", { engine: "command", args: ["--x"] }],
  ["agent.args", { engine: "command", program: "/x", args: ["--dangerously-skip-permissions"] }],
])("what can't be asked for is refused: %s of %j", (field, asked) => {
  expect(refusalOf(() => choose(asked, settingsOf("claude")))).toEqual({ code: "unsupported", field });
});

test("ALLOW_BYPASS lets such arguments through", () => {
  const args = ["--dangerously-skip-permissions"];
  const asked = { engine: "command" as const, program: "/x", args };
  expect(choose(asked, settingsOf("claude", { allowBypass: true })).args).toEqual(args);
});

const requestOf = (agent: object) =>
  createRequestSchema.safeParse({ threadId: "t", type: "agent", dir: ".", command: "x", agent });

test.each([
  ["agent.program", { program: "" }],
  ["agent.program", { program: "a\0b" }],
  ["agent.program", { program: "./here" }],
  ["agent.args.0", { args: ["a\0b"] }],
  ["agent.engine", { engine: "none" }],
  ["agent.params", { params: { topK: 1 } }],
  ["agent.params.temperature", { params: { temperature: 2.1 } }],
  ["agent.params.thinking", { params: { thinking: "max" } }],
  ["agent.params.maxInputTokens", { params: { maxInputTokens: 0 } }],
  ["agent.params.callSeconds", { params: { callSeconds: 0.5 } }],
  ["agent.needs.0", { needs: ["audio"] }],
])("a request must say what can be: %s of %j", (field, agent) => {
  const { error } = requestOf({ engine: "command", ...agent });
  expect(error?.issues.map(({ path }) => path.join("."))).toEqual([field]);
});

test.each<[EngineName, string, object]>([
  ["command", "model", { model: "m" }],
  ["command", "systemPrompt", { systemPrompt: "be kind" }],
  ["command", "permissionMode", { permissionMode: "plan" }],
  ["command", "outputSchema", { outputSchema: {} }],
  ["command", "limits.tokens", { limits: { tokens: 1 } }],
  ...ENGINE_NAMES.map((name): [EngineName, string, object] => [name, "needs", { needs: ["embeddings"] }]),
  ["command", "needs", { needs: ["images"] }],
  ["command", "params.thinking", { params: { thinking: "low" } }],
  ["claude", "params.temperature", { params: { temperature: 0 } }],
  ["claude", "params.callSeconds", { params: { callSeconds: 60 } }],
  ["claude", "params.maxInputTokens", { params: { maxInputTokens: 99_999 } }],
  ["demo", "outputSchema", { outputSchema: {} }],
  ["claude", "permissionMode", { permissionMode: "none" }],
  ["claude", "permissionMode", { permissionMode: "bypassPermissions" }],
])("what the engine %s can't do is refused by its field: %s", (engine, field, asked) => {
  const agent = requestOf(asked).data?.agent;
  if (!agent) throw new Error("the request is none");
  expect(refusalOf(() => refuseUnsupported(agent, engine, {}))).toEqual({
    code: "unsupported",
    field: `agent.${field}`,
  });
});

test("what an engine can do is taken, and said if it is less than was asked for", () => {
  const params = { thinking: "high", maxInputTokens: 100_000, maxOutputTokens: 8_000 };
  const agent = requestOf({ needs: ["images"], params, model: "opus" }).data?.agent;
  if (!agent) throw new Error("the request is none");
  expect(agent).toMatchObject({ params, needs: ["images"] });
  expect(() => refuseUnsupported(agent, "claude", {})).not.toThrow();
  expect(() => refuseUnsupported({ ...agent, params: { temperature: 1 } }, "claude", {})).toThrow(
    "it takes thinking, maxInputTokens, maxOutputTokens",
  );
});

describe("the sidecar's settings", () => {
  const parse = (env: Record<string, string>) => {
    const { engine, program } = parseVmConfig({ HOME: "/root", ...env }).agent;
    return [engine, program];
  };
  const problem = (env: Record<string, string>) => {
    try {
      parse(env);
    } catch (error) {
      if (error instanceof ConfigError) return error.message;
      throw error;
    }
    return undefined;
  };

  test("say the default engine and its program", () => {
    expect(parse({})).toEqual(["claude", "claude"]);
    expect(parse({ AGENT_PROGRAM: "/opt/claude" })).toEqual(["claude", "/opt/claude"]);
    expect(parse({ AGENT_PROGRAM: "demo" })).toEqual(["demo", "demo"]);
    expect(parse({ AGENT_ENGINE: "demo" })).toEqual(["demo", "demo"]);
    expect(parse({ AGENT_ENGINE: "command", AGENT_PROGRAM: "llm" })).toEqual(["command", "llm"]);
  });

  test("are refused, by name, if they contradict each other", () => {
    expect(problem({ AGENT_ENGINE: "command" })).toMatch(/AGENT_PROGRAM: missing/);
    expect(problem({ AGENT_ENGINE: "command", AGENT_PROGRAM: "demo" })).toMatch(/AGENT_ENGINE: must be demo/);
    expect(problem({ AGENT_ENGINE: "demo", AGENT_PROGRAM: "llm" })).toMatch(/AGENT_PROGRAM: must be demo/);
    expect(problem({ AGENT_ENGINE: "none" })).toMatch(
      /AGENT_ENGINE: must be claude, command, demo, acp or own/,
    );
  });
});
