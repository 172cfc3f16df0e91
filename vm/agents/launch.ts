/** Which engine a new thread gets, and which program is behind it. Pure. */
import { join } from "node:path";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import {
  DEFAULT_ENGINE,
  ENGINES,
  type EngineName,
  findBypass,
  findKnownProgram,
  findOwnEngine,
  findProgramOf,
} from "../../shared/agent/engines/engines.ts";
import { AppError } from "../../shared/errors.ts";

/** The person's settings on this machine, for every agent thread. */
export interface LaunchOptions {
  /** The engine of threads whose creator names none; not set: the one that `program` is a name of, or claude. */
  engine?: EngineName;
  /** Its program: a name to look up on PATH, or a path. */
  program: string;
  args: readonly string[];
  timeouts: ThreadConfig["timeouts"];
  /** Whether an agent may be let do everything without asking. */
  allowBypass?: boolean;
}

export interface Launch {
  engine: EngineName;
  /** A name to look up on PATH, or a path. */
  program: string;
  args: readonly string[];
}

/** The fields of a request that choose the engine and its program. */
export interface AskedLaunch {
  engine?: EngineName | undefined;
  program?: string | undefined;
  args?: readonly string[] | undefined;
}

/** As the environment has them. */
interface EngineVariables {
  AGENT_ENGINE?: EngineName | undefined;
  AGENT_PROGRAM?: string | undefined;
}

/** The default engine and its program. */
export function usualProgram({ AGENT_ENGINE, AGENT_PROGRAM }: EngineVariables): {
  engine: EngineName;
  program: string;
} {
  const engine = AGENT_ENGINE ?? findOwnEngine(AGENT_PROGRAM) ?? DEFAULT_ENGINE;
  const { program } = ENGINES[engine];
  return { engine, program: AGENT_PROGRAM ?? (program.is === "installed" ? program.name : engine) };
}

/** How the two variables contradict each other, each with the name of the one to change. */
export function problemsOfEngine({
  AGENT_ENGINE: engine,
  AGENT_PROGRAM: program,
}: EngineVariables): string[] {
  const own = findOwnEngine(program);
  if (engine === undefined || engine === own) return [];
  const comesWith = "which comes with threadmux";
  if (own !== undefined)
    return [`AGENT_ENGINE: must be ${own}, or not set, for AGENT_PROGRAM=${own}, ${comesWith}`];
  const { is } = ENGINES[engine].program;
  if (is === "any" && program === undefined)
    return [`AGENT_PROGRAM: missing; AGENT_ENGINE=${engine} runs a program of your own, so name it`];
  if (is === "ours" && program !== undefined)
    return [`AGENT_PROGRAM: must be ${engine}, or not set, for AGENT_ENGINE=${engine}, ${comesWith}`];
  return [];
}

/**
 * @param ownPrograms the folder of the engines that come with threadmux
 * @throws AppError `unsupported` naming the field
 */
export function chooseLaunch(asked: AskedLaunch, settings: LaunchOptions, ownPrograms: string): Launch {
  const usual = settings.engine ?? usualProgram({ AGENT_PROGRAM: settings.program }).engine;
  const engine = asked.engine ?? usual;
  const { program } = ENGINES[engine];
  refuseProgram(engine, asked, settings);
  const ownArgs = engine === usual ? settings.args : [];
  if (asked.program !== undefined)
    return { engine, ...findKnownProgram(engine, asked.program, asked.args ?? []) };
  if (program.is === "ours") {
    const script = join(ownPrograms, engine, "main.cjs");
    return { engine, program: process.execPath, args: [script, ...ownArgs] };
  }
  if (engine === usual) return { engine, ...findKnownProgram(engine, settings.program, ownArgs) };
  if (program.is === "installed") return { engine, program: program.name, args: [] };
  throw unsupported(
    "program",
    `the engine ${engine} runs a program that you name; AGENT_PROGRAM is the one of the engine ${usual}.`,
  );
}

function refuseProgram(engine: EngineName, asked: AskedLaunch, { allowBypass }: LaunchOptions): void {
  if (ENGINES[engine].program.is !== "any") {
    const field = (["program", "args"] as const).find((name) => asked[name] !== undefined);
    if (field !== undefined) throw unsupported(field, `the engine ${engine} lets nobody name its program.`);
  }
  if (asked.args === undefined) return;
  if (asked.program === undefined)
    throw unsupported("args", "are for a program of your own; name it in agent.program.");
  const bypass = allowBypass ? undefined : findBypass(asked.args, asked.program);
  if (bypass !== undefined)
    throw unsupported(
      "args",
      `${bypass} lets an agent do everything without asking: it is refused unless the sidecar is started with ALLOW_BYPASS=1.`,
    );
}

function unsupported(field: keyof AskedLaunch, why: string): AppError {
  return new AppError("unsupported", `agent.${field}: ${why}`);
}

/** Says that the program is not there, and how to get it. */
export function notInstalled({ engine, program: name }: Launch): AppError {
  const known = findProgramOf(engine, name);
  const how = known
    ? `Install it (${known.install}), or set AGENT_PROGRAM to one that is; AGENT_PROGRAM=demo is a scripted stand-in.`
    : "Install it, or name one that is in agent.program, or in AGENT_PROGRAM for all threads.";
  return new AppError(
    "unavailable",
    `The agent program ${JSON.stringify(name)} is not installed on the VM. ${how}`,
  );
}
