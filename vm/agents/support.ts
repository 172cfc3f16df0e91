/** What of a configuration is held to: the rest is refused, since a limit that nobody enforces is worse than none. */
import type { ControlRequest } from "../../shared/agent/api.ts";
import type { AgentConfig } from "../../shared/agent/config.ts";
import { BYPASS_MODE, ENGINE_CONTROLS, PERMISSION_MODES } from "../../shared/agent/controls.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { LIMIT_NAMES, type LimitChanges } from "../../shared/agent/limit-schema.ts";
import { AppError } from "../../shared/errors.ts";
import type { CreateRequest } from "../threads/kinds/kind.ts";

/** What a program that answers a message and ends is not told. */
const NOT_OF_COMMAND = ["model", "systemPrompt", "permissionMode", "outputSchema"] as const;

/** What the sidecar's settings say of all its agents. */
interface Settings {
  /** The engine of all of them, if settings fix it. */
  engine?: AgentConfig["engine"];
  allowBypass?: boolean;
}

const BYPASS_REFUSED = `${BYPASS_MODE} lets an agent do everything without asking: it is refused unless the sidecar is started with ALLOW_BYPASS=1.`;

/** @throws AppError `unsupported` naming the first field that the engine can't do, or that settings forbid. */
export function refuseUnsupported(agent: AgentConfig, { engine: fixed, allowBypass }: Settings): void {
  const engine = fixed ?? agent.engine;
  const { limits, params, outputSchema, permissionMode } = agent;
  const refuse = (field: string, why: string) => {
    throw new AppError("unsupported", `agent.${field}: ${why}`);
  };
  if (engine === "command" && fixed === undefined)
    refuse("engine", "AGENT_PROGRAM speaks claude's protocol here; set AGENT_ENGINE=command on the sidecar.");
  if (engine === "command") {
    const given = NOT_OF_COMMAND.find((field) => agent[field] !== undefined);
    if (given) refuse(given, "the engine command gives its program the message alone.");
  }
  if (permissionMode !== undefined && !PERMISSION_MODES.some((mode) => mode === permissionMode))
    refuse("permissionMode", `must be one of ${PERMISSION_MODES.join(", ")}.`);
  if (permissionMode === BYPASS_MODE && !allowBypass) refuse("permissionMode", BYPASS_REFUSED);
  const told = engine === "command" ? definedIn(limits).find(isTold) : undefined;
  if (told) refuse(`limits.${told}`, UNTOLD);
  for (const name of definedIn(params)) refuse(`params.${name}`, `the engine ${engine} takes no parameters.`);
  if (outputSchema !== undefined && engine === "demo") {
    refuse("outputSchema", "the engine demo gives no results of a schema.");
  }
}

/** What an engine must tell to be held to it. */
const isTold = (limit: string) => limit === "tokens" || limit === "spendUsd";
const UNTOLD = "the engine command does not tell what its program uses; limit turns or seconds.";

/** @throws AppError `unsupported` or `invalid_request` if an agent can't be begun with a conversation from elsewhere. */
export function refuseInitialMessages(
  { initialMessages, agent }: CreateRequest,
  { engine: fixed }: Settings,
): void {
  if (initialMessages === undefined) return;
  if ((fixed ?? agent?.engine) === "command")
    throw new AppError(
      "unsupported",
      "initialMessages: the engine command gives its program the message alone.",
    );
  if (agent?.originThreadId !== undefined)
    throw new AppError(
      "invalid_request",
      "initialMessages: must not be given together with agent.originThreadId, whose conversation the agent knows.",
    );
}

/** @throws AppError `unsupported` if the thread's engine can't do it, `invalid_request` if nobody could. */
export function refuseControl(
  { engine, permissionMode }: AgentConfig,
  request: ControlRequest,
  { allowBypass }: Settings,
): void {
  const { control } = request;
  if (!ENGINE_CONTROLS[engine].includes(control)) {
    throw new AppError("unsupported", `The engine ${engine} can't do that: ${control}.`);
  }
  if (request.control === "limit") refuseLimits(engine, request.limits);
  if (request.control !== "mode") return;
  if (!PERMISSION_MODES.some((mode) => mode === request.modeId)) {
    throw new AppError("invalid_request", `modeId: must be one of ${PERMISSION_MODES.join(", ")}.`);
  }
  if (request.modeId !== BYPASS_MODE) return;
  if (!allowBypass) throw new AppError("unsupported", `modeId: ${BYPASS_REFUSED}`);
  // The engine takes it only if it was started with it.
  if (permissionMode !== BYPASS_MODE) {
    throw new AppError(
      "unsupported",
      `modeId: ${BYPASS_MODE} is for threads that were made with it; this one was not.`,
    );
  }
}

function refuseLimits(engine: AgentConfig["engine"], limits: LimitChanges): void {
  if (definedIn(limits).length === 0)
    throw new AppError("invalid_request", `limits: name at least one of ${LIMIT_NAMES.join(", ")}.`);
  const told = engine === "command" ? definedIn(limits).find(isTold) : undefined;
  if (told) throw new AppError("unsupported", `limits.${told}: ${UNTOLD}`);
}

/** @throws AppError `not_found` if a rule that is to be withdrawn was not granted, or not any more */
export function refuseUnknownRules(request: ControlRequest, { grantedRules }: ThreadFold): void {
  if (request.control !== "rules") return;
  const unknown = request.withdraw.find((rule) => !grantedRules.includes(rule));
  if (unknown !== undefined)
    throw new AppError("not_found", `This thread has no rule ${JSON.stringify(unknown)}.`);
}

/**
 * The request with the turn that it is about: *Undo* without one means the newest that changed files.
 * @param isKnown whether the thread has had that turn, or undo
 * @throws AppError `turn_running`, `not_found`
 */
export async function withTarget(
  request: ControlRequest,
  fold: ThreadFold,
  isKnown: (turnId: string) => Promise<boolean>,
): Promise<ControlRequest> {
  if (request.control !== "undo") return request;
  if (fold.turn !== null) {
    throw new AppError("turn_running", "The agent is at work: stop it, or wait until its turn has ended.");
  }
  const turnId = request.turnId ?? fold.lastChanges;
  if (turnId === undefined) throw nothingChanged();
  if (turnId !== fold.lastChanges && !(await isKnown(turnId)))
    throw new AppError("not_found", `turnId: this thread has no turn and no undo ${turnId}.`);
  return { ...request, turnId };
}

export function nothingChanged(): AppError {
  return new AppError("not_found", "No turn of this thread has changed a file whose earlier state is kept.");
}

function definedIn(fields: object): string[] {
  return Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}
