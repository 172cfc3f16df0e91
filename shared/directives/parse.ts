/**
 * Reads a directive: a subagent file of Claude Code's, perhaps with a block `threadmux` of ours. Whoever wrote it, it is
 * taken for what it says and nothing else. Pure.
 */
import type * as z from "zod";
import { ENGINES } from "../agent/engines/engines.ts";
import { type Gate, problemOfGate } from "../agent/gates.ts";
import { LIMIT_NAMES } from "../agent/limit-schema.ts";
import type { Fault, FaultAt } from "./fault.ts";
import { type InputSpecs, PLACE } from "./inputs.ts";
import { type Read, readYaml } from "./read-yaml.ts";
import { type Head, headSchema } from "./schema.ts";
import { splitFile } from "./split-file.ts";

/** As long as the configuration of a thread takes a system text. */
const MAX_TEXT = 200_000;

export interface Directive {
  name: string;
  description: string;
  /** The system text, its inputs not yet filled in. */
  text: string;
  tools?: string[];
  disallowedTools?: string[];
  model?: string;
  effort?: string;
  permissionMode?: string;
  engine?: NonNullable<Head["threadmux"]>["engine"];
  mode?: "conversation" | "single";
  limits: Readonly<Record<string, number>>;
  voice?: "message";
  workspace?: "shared" | "worktree";
  outputSchema?: Record<string, unknown>;
  inputs: InputSpecs;
  spawn?: "await" | "async" | "single";
  gates?: readonly Gate[];
  /** The lines at which its gates stand in the file. */
  gateLines?: readonly number[];
  /** What of the file is not honoured, a sentence each. */
  notes: string[];
}

/** @param file its name, for the faults */
export function parseDirective(
  file: string,
  bytes: Uint8Array,
): { directive: Directive; faults?: never } | { directive?: never; faults: Fault[] } {
  const parsed = parse(bytes);
  if ("directive" in parsed) return parsed;
  return { faults: parsed.faults.map((fault) => ({ file, ...fault })) };
}

function parse(bytes: Uint8Array): { directive: Directive } | { faults: FaultAt[] } {
  const split = splitFile(bytes);
  if ("faults" in split) return split;
  const { head, headLine, text, textLine } = split.split;
  const yaml = readYaml(head, headLine);
  if ("faults" in yaml) return yaml;
  const { value, lineOf } = yaml.read;
  const parsed = headSchema.safeParse(withoutNulls(value));
  if (!parsed.success) return { faults: parsed.error.issues.flatMap((issue) => faultsOf(issue, lineOf)) };
  const faults = [
    ...contradictions(parsed.data).map((found) => atField(found.path, found.problem, lineOf)),
    ...faultsOfText(text, textLine, parsed.data.threadmux?.inputs),
  ];
  if (faults.length > 0) return { faults };
  const { gates = [] } = parsed.data.threadmux ?? {};
  const gateLines = gates.map((_, at) => Math.max(1, lineOf(["threadmux", "gates", at])));
  const gated = gates.length > 0 ? { gates, gateLines } : {};
  return { directive: { ...directiveOf(parsed.data, text), ...gated } };
}

/** A field without a value is left out, as Claude Code takes it. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(
    fields.map(([name, field]) => [name, name === "threadmux" ? withoutNulls(field) : field]),
  );
}

function faultsOf(issue: z.core.$ZodIssue, lineOf: Read["lineOf"]): FaultAt[] {
  if (issue.code !== "unrecognized_keys") return [atField(issue.path, issue.message, lineOf)];
  return issue.keys.map((key) =>
    atField([...issue.path, key], "is no field that threadmux has here", lineOf),
  );
}

function atField(path: readonly PropertyKey[], problem: string, lineOf: Read["lineOf"]): FaultAt {
  const field = path.length === 0 ? "head" : path.map(String).join(".").slice(0, 200);
  return { line: Math.max(1, lineOf(path)), field, problem };
}

/** Two fields that can't both be meant. */
function contradictions(head: Head): { path: string[]; problem: string }[] {
  const { tools = [], disallowedTools = [], threadmux = {}, isolation, maxTurns } = head;
  const found: { path: string[]; problem: string }[] = [];
  const both = disallowedTools.find((tool) => tools.includes(tool));
  if (both !== undefined)
    found.push({ path: ["disallowedTools"], problem: `contradicts tools: ${both} stands in both` });
  if (isolation === "worktree" && threadmux.workspace === "shared")
    found.push({ path: ["threadmux", "workspace"], problem: "contradicts isolation: worktree" });
  const { calls } = (threadmux.limits ?? {}) as { calls?: number };
  if (maxTurns !== undefined && calls !== undefined && maxTurns !== calls)
    found.push({ path: ["threadmux", "limits", "calls"], problem: `contradicts maxTurns: ${maxTurns}` });
  if (threadmux.spawn === "single" && threadmux.mode === "conversation")
    found.push({ path: ["threadmux", "spawn"], problem: "contradicts mode: conversation" });
  return [...found, ...againstEngine(head)];
}

/** What the engine that the file itself names can't do. */
function againstEngine({ threadmux, permissionMode, model }: Head): { path: string[]; problem: string }[] {
  const engine = threadmux?.engine;
  if (engine === undefined) return [];
  const { capabilities } = ENGINES[engine];
  const found: { path: string[]; problem: string }[] = [];
  const modes = capabilities.modes?.names ?? [];
  if (permissionMode !== undefined && !(modes as readonly string[]).includes(permissionMode))
    found.push({ path: ["permissionMode"], problem: `is no mode of the engine ${engine}` });
  if (model !== undefined && model !== "inherit" && !capabilities.models)
    found.push({ path: ["model"], problem: `the engine ${engine} lets nobody choose a model` });
  if (!capabilities.systemPrompt)
    found.push({ path: ["threadmux", "engine"], problem: `${engine} takes no system text` });
  if (threadmux?.outputSchema !== undefined && !capabilities.outputSchema)
    found.push({ path: ["threadmux", "outputSchema"], problem: `the engine ${engine} takes none` });
  for (const [at, gate] of (threadmux?.gates ?? []).entries()) {
    const problem = problemOfGate(gate, ENGINES[engine].capabilities.gates ?? [], engine);
    if (problem) found.push({ path: ["threadmux", "gates", String(at), "at"], problem });
  }
  return found;
}

/** A `{{name}}` in a text without inputs is a text of another kind, such as a template that it talks of. */
function faultsOfText(text: string, firstLine: number, inputs?: InputSpecs): FaultAt[] {
  const at = (index: number) => firstLine + text.slice(0, index).split("\n").length - 1;
  if (text.length > MAX_TEXT)
    return [{ line: firstLine, field: "text", problem: `must be at most ${MAX_TEXT} characters` }];
  if (text === "")
    return [{ line: firstLine, field: "text", problem: "is missing: nothing follows the head" }];
  if (!inputs) return [];
  const faults = new Map<string, FaultAt>();
  for (const { 0: place, 1: name = "", index } of text.matchAll(PLACE)) {
    const type = Object.hasOwn(inputs, name) ? inputs[name]?.type : undefined;
    if (faults.has(name) || (type !== undefined && type !== "text")) continue;
    const problem =
      type === "text"
        ? `${place} can't stand here: free text stands in the first message`
        : `${place} is no input of threadmux.inputs`;
    faults.set(name, { line: at(index), field: "text", problem });
    if (faults.size === 10) break;
  }
  return [...faults.values()];
}

function directiveOf(head: Head, text: string): Directive {
  const { name, description, tools, disallowedTools, model, effort, permissionMode, threadmux = {} } = head;
  const { engine, mode, voice, limits = {}, outputSchema, inputs = {}, spawn } = threadmux;
  const workspace = threadmux.workspace ?? (head.isolation === "worktree" ? "worktree" : undefined);
  const calls = head.maxTurns !== undefined && hasCalls ? { calls: head.maxTurns } : {};
  return {
    ...{ name, description, text },
    ...(tools && { tools: [...new Set(tools.map(toolOf))] }),
    ...(disallowedTools && { disallowedTools: [...new Set(disallowedTools)] }),
    ...(model !== undefined && model !== "inherit" && { model }),
    ...(typeof effort === "string" && EFFORTS.includes(effort) && { effort }),
    ...(permissionMode !== undefined && { permissionMode }),
    ...(engine && { engine }),
    ...(mode && { mode }),
    ...(voice && { voice }),
    ...(workspace && { workspace }),
    ...(outputSchema && { outputSchema }),
    ...(spawn && { spawn }),
    limits: { ...calls, ...definedOf(limits) },
    inputs,
    notes: notesOf(head),
  };
}

/** Without what it may be called with: Claude Code, too, gives the whole tool. */
const toolOf = (tool: string) => tool.replace(/\(.*$/s, "");

const EFFORTS = ["low", "medium", "high"];

const hasCalls = (LIMIT_NAMES as readonly string[]).includes("calls");

/** Fields of Claude Code's subagents that threadmux reads, or whose loss nobody notices. */
const READ = [
  "name",
  "description",
  "tools",
  "disallowedTools",
  "model",
  "permissionMode",
  "threadmux",
  "color",
];

/** What becomes of Claude Code's other fields. */
const NOT_HONOURED: Readonly<Record<string, string>> = {
  hooks: "no hook of a directive is run",
  mcpServers: "no server of a directive is started; the person's own are there",
  skills: "no skill is loaded beforehand; the agent finds those of its directory",
  memory: "the agent has no memory of its own for it",
  background: "a thread is always in the background",
  initialPrompt: "the first message is what the person asks",
  autoCompactWindow: "the engine's own window holds",
};

function notesOf(head: Head): string[] {
  const { effort, isolation, maxTurns } = head;
  const notes = Object.keys(head).flatMap((field) => {
    if (READ.includes(field) || ["effort", "isolation", "maxTurns"].includes(field)) return [];
    const why = Object.hasOwn(NOT_HONOURED, field) ? NOT_HONOURED[field] : "threadmux does not know it";
    return [`${field.slice(0, 100)}: is not honoured: ${why}.`];
  });
  const narrowed = head.tools?.find((tool) => tool.includes("("));
  if (narrowed !== undefined) notes.push(`tools: ${narrowed} gives all of ${toolOf(narrowed)}.`);
  if (maxTurns !== undefined && !hasCalls)
    notes.push(
      "maxTurns: is not honoured: threadmux limits no calls of the model yet; limit turns or seconds.",
    );
  if (effort !== undefined && !(typeof effort === "string" && EFFORTS.includes(effort)))
    notes.push(`effort: is not honoured: threadmux knows ${EFFORTS.join(", ")}.`);
  if (isolation !== undefined && isolation !== "worktree")
    notes.push("isolation: is not honoured: threadmux knows worktree.");
  return notes;
}

function definedOf(limits: Readonly<Record<string, number | undefined>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(limits).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
