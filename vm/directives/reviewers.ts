/** Whether the directives that gates name can decide there. */
import type { EngineName } from "../../shared/agent/engines/engines.ts";
import { deciderOf, type KeptGate } from "../../shared/agent/gates.ts";
import { AppError } from "../../shared/errors.ts";
import type { FoundDirective } from "./found.ts";

/**
 * @param find the directive of a name; `field` is for its error
 * @throws AppError `not_found`, `invalid_request`, `unsupported` naming the gate
 */
export async function checkReviewers(
  gates: readonly KeptGate[] | undefined,
  engine: EngineName,
  find: (name: string, field: string) => Promise<FoundDirective>,
): Promise<void> {
  for (const [at, gate] of (gates ?? []).entries()) {
    const decider = deciderOf(gate);
    if (decider.is !== "directive") continue;
    const field = `agent.gates.${at}.by`;
    const found = await find(decider.name, field);
    const problem = problemOf(found, engine);
    if (problem !== undefined)
      throw new AppError("unsupported", `${field}: the directive ${decider.name} ${problem}.`);
  }
}

/** Why it can't review what an agent of this engine does. */
function problemOf({ directive }: FoundDirective, engine: EngineName): string | undefined {
  const { inputs, outputSchema, voice, workspace } = directive;
  if (directive.engine !== undefined && directive.engine !== engine)
    return `is for the engine ${directive.engine}, and a reviewer works with that of the thread, ${engine}`;
  if (workspace === "worktree")
    return "works in a worktree of its own, and a reviewer works where the thread does";
  if (voice) return "keeps its own words to itself, and a reviewer's are its decision";
  if (outputSchema) return "has an outputSchema of its own, and a reviewer's result is its decision";
  const needed = Object.entries(inputs).find(([, spec]) => spec.default === undefined);
  return needed && `needs the input ${needed[0]}, which nobody gives a reviewer; give it a default`;
}
