/** A program that a person names, behind an adapter of ours that starts it. */
import { isAbsolute } from "node:path";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import { findProgram } from "../../shared/find-program.ts";
import type { EngineProblem, Env, Needs } from "../engine.ts";

/** @returns undefined if the program can be found on `PATH` */
export function findMissing(program: string, env: Env): EngineProblem | undefined {
  if (findProgram(program, env["PATH"] ?? "") !== undefined) return undefined;
  return {
    code: "engine_missing",
    message: `The agent program ${JSON.stringify(program)} is not installed.`,
  };
}

/**
 * The program with the folder that it is installed in, and the files among its arguments. Only this machine's settings
 * open folders and files in the sandbox: a request that names a program by its path gets that file alone.
 */
export function needsOfProgram({ launch, agent }: ThreadConfig, env: Env): Needs {
  const isAsked = agent.program !== undefined;
  const isByPath = launch.program.includes("/");
  const file = findProgram(launch.program, env["PATH"] ?? "");
  return {
    programs: isAsked && isByPath ? [] : [launch.program],
    reads: [file ?? "", ...(isAsked ? [] : launch.args)].filter(isAbsolute),
    writes: [],
    copies: [],
  };
}
