/** The engines that the surface's tests run with (`engine-surface.ts`): each as a person sets it up, before a scripted model. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Round } from "../../agent/engines/demo/script.ts";
import { ENGINES, type EngineName } from "../../shared/agent/engines/engines.ts";
import type { CreateRequest } from "../../shared/api.ts";
import type { VmConfig } from "../../vm/config.ts";
import { type ModelRequest, startModel } from "../agents/model.ts";
import { buildAcpAgent, conversationOf } from "./acp.ts";
import { BYPASS_CONFIG, STAND_IN_CONFIG, standIn } from "./agents.ts";
import { makeFolder } from "./folders.ts";
import { heardBy, sessionOf, withoutScripts } from "./heard.ts";
import { envOf } from "./own-agent.ts";
import type { SidecarFolders, TestSidecar } from "./sidecar.ts";

type Call = NonNullable<Round["tools"]>[number];

export interface EngineUnderTest {
  name: EngineName;
  /** Settings of a sidecar whose threads have this engine. */
  settings(folders: SidecarFolders): Partial<VmConfig>;
  /** The configuration of a thread in which it asks nothing, for tests that are about no ask. */
  free: NonNullable<CreateRequest["agent"]>;
  /** Its tools, as its model calls them. */
  bash(command: string): Call;
  write(path: string, content: string): Call;
  ask(question: string, ...options: string[]): Call;
  spawn(prompt: string): Call;
  /** A turn's result that fits a schema or does not. */
  result(value: unknown): Round;
  /** The words like `m-1` and `t-2` that its model has had in its conversation, in their order. */
  heard(side: TestSidecar, threadId: string): string[];
  close(): Promise<void>;
}

const question = (text: string, options: readonly string[]) => ({
  questions: [
    {
      question: text,
      header: "Choice",
      multiSelect: false,
      options: options.map((label) => ({ label, description: `means ${label}` })),
    },
  ],
});
const MCP = "mcp__threadmux__";
const BYPASS = { permissionMode: "bypassPermissions" };
const none = (engine: EngineName, ability: string) => () => {
  throw new Error(`${ENGINES[engine].title} has no ${ability}`);
};

/** The stand-in, which speaks the protocol of Claude Code's program. */
export async function claudeUnderTest(): Promise<EngineUnderTest> {
  return {
    name: "claude",
    settings: () => ({ ...BYPASS_CONFIG, agent: { ...standIn(), allowBypass: true } }),
    free: BYPASS,
    bash: (command) => ({ name: "Bash", input: { command, description: "d" } }),
    write: (path, content) => ({ name: "Write", input: { file_path: path, content } }),
    ask: (text, ...options) => ({ name: "AskUserQuestion", input: question(text, options) }),
    spawn: (prompt) => ({ name: `${MCP}spawn_thread`, input: { prompt } }),
    result: (output) => ({ text: "Here.", output }),
    heard: heardBy,
    close: async () => {},
  };
}

/** Before a model over the wire format of Anthropic. */
export async function ownUnderTest(): Promise<EngineUnderTest> {
  const model = await startModel();
  return {
    name: "own",
    settings: (folders) => ({
      ...BYPASS_CONFIG,
      agent: { ...standIn(), engine: "own", allowBypass: true },
      threadEnv: {
        PATH: process.env["PATH"] ?? "",
        HOME: folders.home,
        ...envOf("anthropic", model.url),
      },
    }),
    free: BYPASS,
    bash: (command) => ({ name: "bash", input: { command } }),
    write: (path, content) => ({ name: "write", input: { file_path: path, content } }),
    ask: (text, ...options) => ({ name: "ask_user", input: question(text, options) }),
    spawn: (prompt) => ({ name: `${MCP}spawn_thread`, input: { prompt } }),
    result: (input) => ({ tools: [{ name: "output", input: input as Call["input"] }] }),
    heard: () => wordsIn(model.requests.at(-1)),
    close: () => model.close(),
  };
}

function wordsIn(request: ModelRequest | undefined): string[] {
  const texts = (request?.messages ?? []).flatMap(({ content }) =>
    typeof content === "string" ? [content] : content.flatMap(({ text }) => text ?? []),
  );
  return texts.flatMap(words);
}

function words(text: string): string[] {
  return withoutScripts(text).match(/\b[mt]-\d+\b/g) ?? [];
}

/** A program that runs the calls of its prompt's last script, and prints its texts. */
const PROGRAM = `
import { execSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
const prompt = readFileSync(0, "utf8");
appendFileSync(process.argv[2], JSON.stringify(prompt) + "\\n");
const script = /(?<=@@)\\[.*$/gm;
for (const { tools = [], text, waitFor } of JSON.parse(prompt.match(script)?.at(-1) ?? "[]")) {
  while (waitFor && !existsSync(waitFor)) await pause(20);
  for (const { name, input } of tools)
    if (name === "bash") execSync(input.command);
    else writeFileSync(input.file_path, input.content);
  if (text) console.log(text);
}
`;

export async function commandUnderTest(): Promise<EngineUnderTest> {
  const folder = makeFolder();
  const [program, heard] = [join(folder.path, "agent.mjs"), join(folder.path, "heard")];
  writeFileSync(program, PROGRAM);
  return {
    name: "command",
    settings: () => ({
      ...BYPASS_CONFIG,
      agent: { ...standIn(), engine: "command", program: process.execPath, args: [program, heard] },
    }),
    free: {},
    bash: (command) => ({ name: "bash", input: { command } }),
    write: (path, content) => ({ name: "write", input: { file_path: path, content } }),
    ask: none("command", "questions"),
    spawn: none("command", "tools of threadmux"),
    result: none("command", "results"),
    heard: () => {
      const last = JSON.parse(readFileSync(heard, "utf8").trim().split("\n").at(-1) ?? '""') as string;
      return words(last);
    },
    close: async () => folder.remove(),
  };
}

/** An agent that calls itself codex: people are asked in the mode that it is set to, and nobody in its own mode `agent`. */
export async function acpUnderTest(): Promise<EngineUnderTest> {
  const agent = await buildAcpAgent();
  const program = agent.program("codex-acp", "--modes=agent,workspace-write", "--steer");
  return {
    name: "acp",
    settings: () => ({ ...STAND_IN_CONFIG, agent: { ...standIn(), engine: "acp", program } }),
    free: { permissionMode: "agent" },
    bash: (command) => ({ name: "bash", input: { command } }),
    write: (path, content) => ({ name: "write", input: { file_path: path, content } }),
    ask: none("acp", "questions"),
    spawn: (prompt) => ({ name: "spawn_thread", input: { prompt } }),
    result: none("acp", "results"),
    heard: ({ stateDir, folders }, threadId) =>
      conversationOf(folders, sessionOf(stateDir, threadId) ?? "").flatMap(words),
    close: async () => agent.remove(),
  };
}
