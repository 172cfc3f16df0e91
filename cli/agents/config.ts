/** How an agent is to work, as `new` takes it from its options. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { PARAM_NAMES } from "../../shared/agent/params.ts";
import type { CreateRequest } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { valuesOfWords } from "../../shared/directives/inputs.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import { directives } from "../../shared/protocol/directives.ts";
import { addLimitOptions, LIMIT_OPTION_NAMES, type LimitOptions, limitChanges } from "./limits.ts";

export type AgentRequest = NonNullable<CreateRequest["agent"]>;

export interface AgentOptions extends LimitOptions {
  as?: string;
  input?: string[];
  engine?: string;
  program?: string;
  arg?: string[];
  model?: string;
  mode?: string;
  systemPrompt?: string;
  outputSchema?: string;
  messages?: string;
  single?: boolean;
  worktree?: boolean;
  tag?: string[];
  param?: string[];
  need?: string[];
}

/** The options of `new` and `run` that say how an agent is to work. */
export function addAgentOptions(command: Command): Command {
  command
    .option("--as <directive>", "of an agent: the directive that it is made by; `directives` lists them")
    .option("--input <name=value>", "an input of that directive; may be given again", collect)
    .option("--model <name>", "of an agent: its model")
    .option("--mode <mode>", "of an agent: its permission mode: plan, acceptEdits, …")
    .option("--system-prompt <text>", "of an agent: appended to its own")
    .option("--output-schema <file>", "of an agent: a JSON Schema that its result is to fit")
    .option("--messages <file>", "of an agent: a conversation held elsewhere that it goes on from, as JSON")
    .option("--worktree", "of an agent: it works in a git worktree of its own, on a branch of its own")
    .option("--tag <tag>", "of an agent: a word to find its events by; may be given again", collect)
    .option(
      "--engine <name>",
      "of an agent: its engine; `threadmux engines` lists them (the sidecar's default)",
    )
    .option(
      "--param <name=value>",
      "of an agent: a parameter of its model's calls, such as thinking=high; may be given again",
      collect,
    )
    .option(
      "--need <ability>",
      "of an agent: refuse an engine or a model without it, such as images; may be given again",
      collect,
    )
    .option("--program <name>", "of an agent with the engine command: the program that it runs")
    .option("--arg <arg>", "an argument of that program; may be given again", collect);
  return addLimitOptions(command);
}

/** Takes an option that may be given again. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** The options by the names that the sidecar's errors have for them. */
export const AGENT_OPTION_NAMES: Readonly<Record<string, string>> = {
  "agent.directive": "--as",
  "agent.inputs": "--input",
  "agent.engine": "--engine",
  "agent.program": "--program",
  "agent.args": "--arg",
  "agent.model": "--model",
  "agent.permissionMode": "--mode",
  "agent.systemPrompt": "--system-prompt",
  "agent.outputSchema": "--output-schema",
  initialMessages: "--messages",
  "agent.mode": "--single",
  "agent.tags": "--tag",
  "agent.params": "--param",
  "agent.needs": "--need",
  "agent.workspace": "--worktree",
  "agent.limits": "--max-*",
  ...LIMIT_OPTION_NAMES,
};

/** @returns undefined if nothing was chosen. @throws AppError `invalid_request` naming the option. */
export function agentRequest(options: AgentOptions): AgentRequest | undefined {
  const {
    engine,
    program,
    arg,
    model,
    mode,
    systemPrompt,
    outputSchema,
    single,
    worktree,
    tag,
    param,
    need,
  } = options;
  const limits = limitChanges(options, { mayRemove: false }) as NonNullable<AgentRequest["limits"]>;
  const request: AgentRequest = {
    // The sidecar's schema says which engines there are.
    ...(options.as === undefined ? {} : { directive: options.as }),
    ...(options.input === undefined ? {} : { inputs: wordsOf(options.input, "--input") }),
    ...(engine === undefined ? {} : { engine: engine as AgentRequest["engine"] }),
    ...(program === undefined ? {} : { program }),
    ...(arg === undefined ? {} : { args: arg }),
    ...(model === undefined ? {} : { model }),
    ...(mode === undefined ? {} : { permissionMode: mode }),
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    ...(outputSchema === undefined ? {} : { outputSchema: readSchema(outputSchema) }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(worktree ? { workspace: "worktree" as const } : {}),
    ...(single ? { mode: "single" as const } : {}),
    ...(tag === undefined ? {} : { tags: tag }),
    // The sidecar's schema says which there are.
    ...(param === undefined ? {} : { params: paramsOf(param) as AgentRequest["params"] }),
    ...(need === undefined ? {} : { needs: need as AgentRequest["needs"] }),
  };
  return Object.keys(request).length === 0 ? undefined : request;
}

/** `name=value`, each once. @throws AppError `invalid_request` naming the option */
export function wordsOf(given: readonly string[], option: string): Record<string, string> {
  const words = new Map<string, string>();
  for (const one of given) {
    const at = one.indexOf("=");
    const name = at < 0 ? one : one.slice(0, at);
    if (at <= 0)
      throw new AppError("invalid_request", `${option}: ${JSON.stringify(one)} must be <name>=<value>`);
    if (words.has(name)) throw new AppError("invalid_request", `${option}: ${name} is given twice`);
    words.set(name, one.slice(at + 1));
  }
  return Object.fromEntries(words);
}

/** The words of `--input` as values of the types that the directive has for them. */
export async function withTypedInputs(
  client: SidecarClient,
  dir: string,
  agent: AgentRequest | undefined,
): Promise<AgentRequest | undefined> {
  if (agent?.inputs === undefined || agent.directive === undefined) return agent;
  const { directives: found } = await client.call(directives.list, {}, { query: { dir } });
  const wanted = agent.directive.replace(/^(?:project|user):/, "");
  const named = found.find(({ as }) => as === agent.directive) ?? found.find(({ name }) => name === wanted);
  if (!named) return agent; // the sidecar says what is wrong with the name
  return { ...agent, inputs: valuesOfWords(named.inputs, agent.inputs as Record<string, string>) };
}

/** @throws AppError `invalid_request` */
function paramsOf(given: readonly string[]): Record<string, string | number> {
  return Object.fromEntries(
    given.map((text) => {
      const [name = "", value = ""] = text.split(/=(.*)/s);
      if (!PARAM_NAMES.some((known) => known === name) || value === "")
        throw new AppError(
          "invalid_request",
          `--param: must be one of ${PARAM_NAMES.join(", ")}, = and its value`,
        );
      return [name, /^[0-9]+(\.[0-9]+)?$/.test(value) ? Number(value) : value];
    }),
  );
}

/** For a thread that is to be no agent. @throws AppError `invalid_request` naming an option that only agents have */
export function refuseAgentOptions(options: AgentOptions): void {
  const [field] = Object.keys(agentRequest(options) ?? {});
  const chosen = field && (AGENT_OPTION_NAMES[`agent.${field}`] ?? field);
  const named = chosen ?? (options.messages === undefined ? undefined : "--messages");
  if (named !== undefined) throw new AppError("invalid_request", `${named}: only with --agent`);
}

/** The conversation that the agent begins with; the sidecar's schema says what fits. @throws AppError `invalid_request` */
export function messagesRequest({ messages }: AgentOptions): Pick<CreateRequest, "initialMessages"> {
  if (messages === undefined) return {};
  return { initialMessages: readJson(messages, "--messages") as CreateRequest["initialMessages"] };
}

function readSchema(file: string): Record<string, unknown> {
  const schema = readJson(file, "--output-schema");
  if (typeof schema === "object" && schema !== null && !Array.isArray(schema)) {
    return schema as Record<string, unknown>;
  }
  throw new AppError("invalid_request", "--output-schema: must be a JSON Schema, an object");
}

function readJson(file: string, option: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new AppError("invalid_request", `${option}: ${errorText(cause)}`, { cause });
  }
}
