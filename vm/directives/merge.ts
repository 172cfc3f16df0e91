/** What a directive says and what was asked for, as one configuration: of two that differ the tighter holds. Pure. */
import type { AgentConfig } from "../../shared/agent/config.ts";
import { ENGINES, type EngineName } from "../../shared/agent/engines/engines.ts";
import { type KeptGate, MAX_GATES } from "../../shared/agent/gates.ts";
import { LIMIT_NAMES, type LimitName } from "../../shared/agent/limit-schema.ts";
import { fillPrompt, fillText, type InputValues, readInputs } from "../../shared/directives/inputs.ts";
import { AppError } from "../../shared/errors.ts";
import type { CreateRequest } from "../threads/kinds/kind.ts";
import type { FoundDirective } from "./found.ts";

type Agent = NonNullable<CreateRequest["agent"]>;
type Limits = Agent["limits"];

export interface Merged {
  agent: Agent;
  /** The first message, with the free text of inputs behind it. */
  command: string;
  /** Not all of it was typed by a person. */
  isPlain: boolean;
  notes: string[];
}

/**
 * @param engine of a thread for which neither names one
 * @throws AppError `invalid_request`, `unsupported` naming the field
 */
export function mergeDirective(
  { agent, command, inputs }: { agent: Agent; command: string; inputs: InputValues },
  found: FoundDirective,
  engine: EngineName,
): Merged {
  const { directive, space, file, sha256 } = found;
  const { name, notes } = directive;
  const isSingle = directive.mode === "single" || directive.spawn === "single";
  const values = readInputs(directive.inputs, inputs);
  refuseBoth(name, "engine", agent.engine, directive.engine);
  refuseBoth(name, "outputSchema", agent.outputSchema, directive.outputSchema);
  const chosen = agent.engine ?? directive.engine ?? engine;
  const text = fillText(directive.text, directive.inputs, values);
  const said = [...notes];
  const params = paramsOf(found, agent, chosen, said);
  const tools = bothTools(agent.tools, directive.tools);
  const disallowedTools = [
    ...new Set([...(agent.disallowedTools ?? []), ...(directive.disallowedTools ?? [])]),
  ];
  const permissionMode = tighterMode(chosen, agent.permissionMode, directive.permissionMode, name);
  const model = agent.model ?? directive.model;
  const prompt = fillPrompt(command, directive.inputs, values);
  const gates = bothGates(name, agent.gates, found);
  return {
    agent: {
      ...agent,
      ...(directive.engine && agent.engine === undefined && { engine: directive.engine }),
      ...(model !== undefined && { model }),
      ...(directive.outputSchema && { outputSchema: directive.outputSchema }),
      ...(permissionMode !== undefined && { permissionMode }),
      ...(tools && { tools }),
      ...(disallowedTools.length > 0 && { disallowedTools }),
      ...(directive.voice && { voice: directive.voice }),
      mode: isSingle ? "single" : agent.mode,
      workspace: directive.workspace === "worktree" ? "worktree" : agent.workspace,
      limits: tighterLimits(agent.limits, directive.limits),
      params,
      ...(gates.length > 0 && { gates }),
      systemPrompt: [text, agent.systemPrompt].filter(Boolean).join("\n\n"),
      directive: { name, space, file, sha256, inputs: values },
    },
    command: prompt,
    isPlain: prompt !== command,
    notes: said,
  };
}

export interface AppliedToChild extends Pick<Merged, "agent" | "command"> {
  plain?: true;
  notes?: string[];
  spawn?: "await" | "async" | "single";
}

/**
 * The same for a child: it works where its parent does, with its parent's engine, and as freely at most. The directive's
 * text stands for that of its parent.
 * @throws AppError `invalid_request`, `unsupported` in words for the model
 */
export function mergeForChild(
  { agent, command, inputs }: { agent: AgentConfig; command: string; inputs: InputValues },
  found: FoundDirective,
): AppliedToChild {
  const { name, engine, workspace, voice, model, spawn } = found.directive;
  const refuse = (why: string) => {
    throw new AppError("unsupported", `directive: ${name} ${why}`);
  };
  if (engine !== undefined && engine !== agent.engine)
    refuse(`is for the engine ${engine}, and a child works with its parent's, ${agent.engine}.`);
  if (workspace === "worktree")
    refuse("works in a worktree of its own, and a child works where its parent does.");
  if (voice) refuse("keeps its own words to itself, and a child answers its parent with them.");
  const { systemPrompt: _, directive: __, ...own } = agent;
  const asked = { ...own, ...(model !== undefined && { model }) };
  const merged = mergeDirective({ agent: asked, command, inputs }, found, agent.engine);
  return {
    agent: merged.agent,
    command: merged.command,
    ...(merged.isPlain && { plain: true as const }),
    ...(merged.notes.length > 0 && { notes: merged.notes }),
    ...(spawn && { spawn }),
  };
}

/** Takes the lower one of each limit. */
export function tighterLimits(one: Limits, other: Readonly<Partial<Record<string, number>>>): Limits {
  const limits: Partial<Record<LimitName, number>> = {};
  for (const name of LIMIT_NAMES) {
    const given = [one[name], other[name]].filter((limit) => limit !== undefined);
    if (given.length > 0) limits[name] = Math.min(...given);
  }
  return limits;
}

/** All of both: a gate only narrows. @throws AppError `invalid_request` */
function bothGates(name: string, asked: readonly KeptGate[] = [], { directive, space }: FoundDirective) {
  const own = (directive.gates ?? []).map((gate) => (space === "project" ? { ...gate, space } : gate));
  const gates = [...asked, ...own];
  if (gates.length > MAX_GATES)
    throw new AppError(
      "invalid_request",
      `agent.gates: with those of the directive ${name} there are more than ${MAX_GATES}.`,
    );
  return gates;
}

/** Those that both allow; undefined if neither says any. */
export function bothTools(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): string[] | undefined {
  if (!one || !other) return (one ?? other)?.slice();
  return one.filter((tool) => other.includes(tool));
}

/**
 * The one in which less is done without asking. No directive lets an agent do everything: a person asks for that by
 * themselves.
 */
function tighterMode(
  engine: EngineName,
  asked: string | undefined,
  said: string | undefined,
  directive: string,
): string | undefined {
  const { modes } = ENGINES[engine].capabilities;
  const names: readonly string[] = modes?.names ?? [];
  const bypass = modes?.bypass;
  if (said !== undefined && said === bypass && asked === undefined)
    throw new AppError(
      "unsupported",
      `agent.permissionMode: the directive ${directive} asks for ${said}, which none may choose: ask for it yourself, or for a narrower one.`,
    );
  if (asked === undefined || said === undefined) return asked ?? said;
  const [first, second] = [names.indexOf(asked), names.indexOf(said)];
  if (first < 0) return asked; // it is refused by its name
  if (second < 0) return said;
  return first <= second ? asked : said;
}

function paramsOf(
  { directive }: FoundDirective,
  agent: Agent,
  engine: EngineName,
  said: string[],
): Agent["params"] {
  const effort = directive.effort as Agent["params"]["thinking"];
  if (effort === undefined || agent.params.thinking !== undefined) return agent.params;
  if (ENGINES[engine].capabilities.params?.thinking) return { ...agent.params, thinking: effort };
  said.push(`effort: is not honoured: the engine ${engine} does not take it.`);
  return agent.params;
}

function refuseBoth(name: string, field: string, asked: unknown, said: unknown): void {
  if (asked === undefined || said === undefined || JSON.stringify(asked) === JSON.stringify(said)) return;
  throw new AppError(
    "invalid_request",
    `agent.${field}: the directive ${name} has another one; leave it out.`,
  );
}
