/** What of a configuration is held to: the rest is refused, since a limit that nobody enforces is worse than none. */
import type { ControlRequest } from "../../shared/agent/api.ts";
import type { AgentConfig } from "../../shared/agent/config.ts";
import { controlsOf } from "../../shared/agent/controls.ts";
import type { Capabilities } from "../../shared/agent/engines/declaration.ts";
import { ENGINES, type EngineName } from "../../shared/agent/engines/engines.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { deciderOf, problemOfGate } from "../../shared/agent/gates.ts";
import { LIMIT_NAMES, type LimitChanges } from "../../shared/agent/limit-schema.ts";
import { PARAM_NAMES, type Params } from "../../shared/agent/params.ts";
import { AppError } from "../../shared/errors.ts";
import type { Principal } from "../../shared/principal.ts";
import type { CreateRequest } from "../threads/kinds/kind.ts";
import type { AgentThread } from "./agent-thread.ts";
import { refuseMarkedControl } from "./outside.ts";

/** The fields of a configuration that need a capability of the engine. */
const NEEDS = {
  model: "models",
  systemPrompt: "systemPrompt",
  permissionMode: "modes",
  tools: "toolRules",
  disallowedTools: "toolRules",
  outputSchema: "outputSchema",
  voice: "tools",
} as const satisfies Partial<Record<keyof AgentConfig, keyof Capabilities>>;
type Needing = keyof typeof NEEDS;

/** The sidecar's settings for all its agents. */
interface Settings {
  allowBypass?: boolean;
}

/** Whether the engine can do what a field of a configuration asks for. */
export function canDo(engine: EngineName, field: Needing): boolean {
  return Boolean(ENGINES[engine].capabilities[NEEDS[field]]);
}

/**
 * @param prefix of the fields' names, as the caller calls them
 * @throws AppError `unsupported` naming the first field that the engine can't do, or that settings forbid.
 */
export function refuseUnsupported(
  agent: Omit<AgentConfig, "engine" | "directive">,
  engine: EngineName,
  { allowBypass }: Settings,
  prefix = "agent.",
): void {
  const { limits, params, permissionMode } = agent;
  const { modes } = ENGINES[engine].capabilities;
  const refuse = (field: string, why: string) => {
    throw new AppError("unsupported", `${prefix}${field}: ${why}`);
  };
  const asked = Object.keys(NEEDS) as Needing[];
  const given = asked.find((field) => agent[field] !== undefined && !canDo(engine, field));
  if (given) refuse(given, `the engine ${engine} can't do that.`);
  if (permissionMode !== undefined && !modes?.names.includes(permissionMode))
    refuse("permissionMode", `must be one of ${modes?.names.join(", ")}.`);
  if (permissionMode !== undefined && permissionMode === modes?.bypass && !allowBypass)
    refuse("permissionMode", bypassRefused(permissionMode));
  const told = findUntold(engine, limits);
  if (told) refuse(`limits.${told}`, untold(engine));
  refuseParams(params, engine);
  const lacking = findLacking(agent, engine);
  if (lacking) refuse("needs", `${lacking}.`);
  for (const [at, gate] of (agent.gates ?? []).entries()) {
    const problem = problemOfGate(gate, ENGINES[engine].capabilities.gates ?? [], engine);
    if (problem) refuse(`gates.${at}.at`, `${problem}.`);
    const { outputSchema, cost } = ENGINES[engine].capabilities;
    if (deciderOf(gate).is === "directive" && !(outputSchema && cost))
      refuse(`gates.${at}.by`, `the engine ${engine} gives no answer in a form, so no directive can decide.`);
  }
}

/** A bound is the engine's, so another engine may take the value. */
function refuseParams(params: Params, engine: EngineName): void {
  const known = ENGINES[engine].capabilities.params ?? {};
  const refuse = (name: string, why: string) => {
    throw new AppError("unsupported", `agent.params.${name}: ${why}`);
  };
  for (const name of PARAM_NAMES) {
    const value = params[name];
    if (value === undefined) continue;
    const bounds = known[name];
    if (bounds === undefined) refuse(name, `the engine ${engine} does not take it${listOf(known)}.`);
    const { min = -Infinity, max = Infinity } = bounds ?? {};
    if (Number(value) < min) refuse(name, `must be at least ${min} for the engine ${engine}.`);
    if (Number(value) > max) refuse(name, `must be at most ${max} for the engine ${engine}.`);
  }
}

function listOf(known: object): string {
  const names = Object.keys(known);
  return names.length === 0 ? ", nor any other parameter" : `; it takes ${names.join(", ")}`;
}

/** Says which ability the thread needs and would not have. */
function findLacking({ needs, model }: Pick<AgentConfig, "needs" | "model">, engine: EngineName) {
  const { capabilities } = ENGINES[engine];
  const missing = needs.find((need) => !capabilities[need]);
  if (missing) return `the engine ${engine} has no ${missing}`;
  const lacks = model === undefined ? [] : (capabilities.lacks?.(model) ?? []);
  const lacking = needs.find((need) => lacks.includes(need));
  return lacking && `the model ${model} has no ${lacking}`;
}

function bypassRefused(mode: string): string {
  return `${mode} lets an agent do everything without asking: it is refused unless the sidecar is started with ALLOW_BYPASS=1.`;
}

/** The limit that the engine must tell its use of, and does not. */
function findUntold(engine: EngineName, limits: object): string | undefined {
  const { cost, calls } = ENGINES[engine].capabilities;
  const untold = [...(cost ? [] : ["tokens", "spendUsd"]), ...(calls ? [] : ["calls"])];
  return definedIn(limits).find((limit) => untold.includes(limit));
}

function untold(engine: EngineName): string {
  return `the engine ${engine} does not tell what its program uses; limit turns or seconds.`;
}

/** @throws AppError `unsupported` or `invalid_request` if an agent can't be begun with a conversation from elsewhere. */
export function refuseInitialMessages({ initialMessages, agent }: CreateRequest, engine: EngineName): void {
  if (initialMessages === undefined) return;
  if (!ENGINES[engine].capabilities.resume)
    throw new AppError(
      "unsupported",
      `initialMessages: the engine ${engine} gives its program the message alone.`,
    );
  if (agent?.originThreadId !== undefined)
    throw new AppError(
      "invalid_request",
      "initialMessages: must not be given together with agent.originThreadId, whose conversation the agent knows.",
    );
}

/** @throws AppError `unsupported` if the thread's engine can't do it, `invalid_request` if nobody could. */
export function refuseControl(
  { engine, permissionMode, needs }: AgentConfig,
  request: ControlRequest,
  { allowBypass }: Settings,
): void {
  const { control } = request;
  const { modes } = ENGINES[engine].capabilities;
  if (!controlsOf(ENGINES[engine]).includes(control)) {
    throw new AppError("unsupported", `The engine ${engine} can't do that: ${control}.`);
  }
  if (request.control === "limit") refuseLimits(engine, request.limits);
  if (request.control === "model") {
    const lacking = findLacking({ needs, model: request.model }, engine);
    if (lacking) throw new AppError("unsupported", `model: ${lacking}, which this thread needs.`);
  }
  if (request.control !== "mode" || modes === undefined) return;
  const { modeId } = request;
  if (!modes.names.includes(modeId))
    throw new AppError("invalid_request", `modeId: must be one of ${modes.names.join(", ")}.`);
  if (modeId !== modes.bypass) return;
  if (!allowBypass) throw new AppError("unsupported", `modeId: ${bypassRefused(modeId)}`);
  // The engine takes it only if it was started with it.
  if (permissionMode !== modeId) {
    throw new AppError(
      "unsupported",
      `modeId: ${modeId} is for threads that were made with it; this one was not.`,
    );
  }
}

function refuseLimits(engine: EngineName, limits: LimitChanges): void {
  if (definedIn(limits).length === 0)
    throw new AppError("invalid_request", `limits: name at least one of ${LIMIT_NAMES.join(", ")}.`);
  const told = findUntold(engine, limits);
  if (told) throw new AppError("unsupported", `limits.${told}: ${untold(engine)}`);
}

/** @throws AppError if the thread as it is now takes no such control */
export function refuseByState(
  request: ControlRequest,
  agent: AgentConfig | undefined,
  thread: Pick<AgentThread, "fold" | "marked">,
  by: Principal,
): void {
  refuseUnknownRules(request, thread.fold);
  refuseMarkedControl(request, agent, thread, by);
}

/** @throws AppError `not_found` if a rule that is to be withdrawn was not granted, or not any more */
function refuseUnknownRules(request: ControlRequest, { grantedRules }: ThreadFold): void {
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
