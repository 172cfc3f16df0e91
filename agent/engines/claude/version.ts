/** Says in a thread why its claude can't be used, and how a person mends that. Pure. */
import { claude, INSTALL_COMMAND } from "../../../shared/agent/engines/claude.ts";
import { findVersionFault } from "../../../shared/agent/engines/program-version.ts";
import type { EngineProblem } from "../../engine.ts";

/** @param outcome what `--version` printed, or how it failed */
export function findVersionProblem(
  program: string,
  outcome: string | NodeJS.ErrnoException,
): EngineProblem | undefined {
  const found = findVersionFault(program, claude.program.version, outcome);
  return found && { code: found.code, message: `${found.says}. Install it with: ${INSTALL_COMMAND}` };
}
