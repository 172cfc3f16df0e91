/** The engines. A new one is declared here by one line, and the compiler then asks for its adapter. */
import { acp } from "./acp.ts";
import { claude, readerArgs } from "./claude.ts";
import { command } from "./command.ts";
import type { EngineDeclaration, KnownProgram } from "./declaration.ts";
import { demo } from "./demo.ts";
import { own } from "./own.ts";

const DECLARATIONS = { claude, command, demo, acp, own } satisfies Record<string, EngineDeclaration>;

export type EngineName = keyof typeof DECLARATIONS;

export const ENGINES: Readonly<Record<EngineName, EngineDeclaration>> = DECLARATIONS;

export const ENGINE_NAMES = Object.keys(DECLARATIONS) as [EngineName, ...EngineName[]];

/** Reads a text from outside, and answers a question about it. */
export const READER = {
  engine: "claude",
  program: DECLARATIONS.claude.program.name,
  args: readerArgs,
} as const;

/** The engine of a thread if neither its creator nor `AGENT_ENGINE` chooses one. */
export const DEFAULT_ENGINE: EngineName = "claude";

/** @param name as a transcript tells it: it may be of a later version, or made up. */
export function findEngine(name: string | undefined): EngineDeclaration | undefined {
  return ENGINE_NAMES.some((known) => known === name) ? ENGINES[name as EngineName] : undefined;
}

/** The engine that comes with threadmux under this name: `AGENT_PROGRAM` may name it too. */
export function findOwnEngine(program: string | undefined): EngineName | undefined {
  return ENGINE_NAMES.find((name) => name === program && ENGINES[name].program.is === "ours");
}

/** The program that an engine starts for a name: the one that it knows under it, else the name itself. */
export function findKnownProgram(
  engine: EngineName,
  name: string,
  args: readonly string[],
): { program: string; args: readonly string[] } {
  const { program } = ENGINES[engine];
  const all = program.is === "any" ? (program.known ?? []) : [];
  const known = all.find((one) => one.shortName === name || one.name === name);
  return known ? { program: known.name, args: [...(known.args ?? []), ...args] } : { program: name, args };
}

/** What an engine's declaration says of a program by its name on PATH; one that people install has a name of their own. */
export function findProgramOf(engine: EngineName, name: string): KnownProgram | undefined {
  const { program } = ENGINES[engine];
  if (program.is === "installed") return program;
  return program.is === "any" ? program.known?.find((one) => one.name === name) : undefined;
}

/** The engine's id of a call, by which an MCP request names it; engines declare the field. */
export function findCallId(meta: Record<string, unknown> | undefined): unknown {
  const fields = ENGINE_NAMES.flatMap((name) => ENGINES[name].mcpCallId ?? []);
  return fields.map((field) => meta?.[field]).find((id) => id !== undefined);
}

/** Whether an engine's model asks a person a question by this tool. */
export function isQuestionTool(tool: string): boolean {
  return ENGINE_NAMES.some((name) => ENGINES[name].capabilities.questions.includes(tool));
}

/** The permission modes of all engines, each once. */
export function allModes(): string[] {
  return [...new Set(ENGINE_NAMES.flatMap((name) => ENGINES[name].capabilities.modes?.names ?? []))];
}

/** The argument that would let some engine's program do everything without asking. */
export function findBypass(args: readonly string[], program?: string): string | undefined {
  for (const name of ENGINE_NAMES) {
    const found = ENGINES[name].findBypass?.(args, program);
    if (found !== undefined) return found;
  }
  return undefined;
}
