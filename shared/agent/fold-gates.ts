/** The part of the fold that knows gates: what is asked, what was decided, and which calls have ended. */
import { ownValue } from "../own-value.ts";
import type { Source } from "../principal.ts";
import type { EventOf, ThreadEvent } from "./events.ts";
import type { FoldGates, GateEntry, ThreadFold } from "./fold-types.ts";
import { type GatedCall, gatedCall } from "./gate-fit.ts";
import type { GateOutcome } from "./gates.ts";

const MAX_ENTRIES = 100;
const MAX_CALLS = 100;
const MAX_COMMAND = 2_000;
const MAX_PATHS = 20;
/** Before the id of a message by which a gate lets a failed turn be tried again. */
export const GATE_MESSAGE = "gate-";

const NOTHING: FoldGates = { entries: [], calls: [], failures: {}, seen: {}, steps: 0, retries: 0 };

export function foldGates(fold: ThreadFold, event: ThreadEvent): ThreadFold {
  if (event.type === "thread_start") return hasGates(event.config) ? { ...fold, gates: NOTHING } : fold;
  if (!fold.gates) return fold;
  switch (event.type) {
    case "gate_request":
      return { ...fold, gates: asked(fold, fold.gates, event) };
    case "gate_response":
      return decide(fold, event, event.outcome === "withdrawn" ? undefined : event.outcome, event.text);
    case "tool_call": {
      const call = { ...bounded(gatedCall(event.name, event.rawInput)), toolCallId: event.toolCallId };
      return { ...fold, gates: { ...fold.gates, calls: [...fold.gates.calls, call].slice(-MAX_CALLS) } };
    }
    case "tool_call_update":
      return { ...fold, gates: endCall(withFiles(fold.gates, event), event) };
    case "user_message":
      return event.messageId.startsWith(GATE_MESSAGE)
        ? fold
        : { ...fold, gates: { ...fold.gates, retries: 0 } };
    case "turn_start":
      return { ...fold, gates: { ...fold.gates, entries: fold.gates.entries.filter(isOfTurn) } };
    case "turn_end":
      return event.stopReason === "interrupted" ? fold : endTurn(fold, fold.gates, event);
    default:
      return fold;
  }
}

/** A person's answer to a gate's ask: the option's name is the outcome. */
export function answerGate(
  fold: ThreadFold,
  requestId: string,
  answer: { optionId: string; message?: string; by?: Source } | undefined,
): ThreadFold {
  const { optionId, message, by } = answer ?? {};
  return decide(fold, { requestId, ...(by && { by }) }, optionId as GateOutcome | undefined, message);
}

/** Decided, and what waits for it has not ended: taken up, the turn goes on with it. */
export function hasDecision({ gates }: Pick<ThreadFold, "gates">): boolean {
  return gates?.entries.some((entry) => isOfTurn(entry) && entry.outcome !== undefined) ?? false;
}

/** Calls that a gate has decided on, and that have not run. */
export function decidedCalls({ gates }: Pick<ThreadFold, "gates">): GateEntry[] {
  return (gates?.entries ?? []).filter(({ at, outcome }) => at === "before_step" && outcome !== undefined);
}

/** True if the gate belongs to a running turn: a failure is decided on after the turn, a limit while the turn is held. */
export function isOfTurn({ at, isAfterTurn }: Pick<GateEntry, "at" | "isAfterTurn">): boolean {
  return at !== "on_limit" && !isAfterTurn;
}

function hasGates({ gates }: EventOf<"thread_start">["config"]): boolean {
  return Array.isArray(gates) && gates.length > 0;
}

function asked(fold: ThreadFold, gates: FoldGates, event: EventOf<"gate_request">): FoldGates {
  const { requestId, callKey, gate, at, by, waits, title, toolName, input, attempt, steps, seq } = event;
  const old = gates.entries.find((one) => one.requestId === event.replaces);
  const { outcome, text, decidedBy } = old ?? {};
  const entry: GateEntry = {
    ...{ requestId, callKey, gate, at, by, waits, title, toolName, input, attempt },
    generation: fold.engine?.generation ?? 0,
    askedAt: event.ts,
    ...(fold.turn === null && { isAfterTurn: true as const }),
    ...(outcome !== undefined && { outcome }),
    ...(text !== undefined && { text }),
    ...(decidedBy && { decidedBy }),
  };
  const others = gates.entries.filter((one) => one !== old);
  const failures = at === "on_error" ? {} : gates.failures;
  return {
    ...gates,
    failures,
    entries: [...others, entry].slice(-MAX_ENTRIES),
    seen: { ...gates.seen, [gate]: { seq, steps, turns: fold.turnCount } },
  };
}

/** The first decision counts, and none about another call. Without an outcome nobody is asked any more. */
function decide(
  fold: ThreadFold,
  { requestId, callKey, by }: { requestId: string; callKey?: string; by?: Source | undefined },
  outcome: GateOutcome | undefined,
  text: string | undefined,
): ThreadFold {
  const { gates } = fold;
  const found = gates?.entries.find((entry) => entry.requestId === requestId);
  if (!gates || !found || found.outcome !== undefined) return fold;
  if (callKey !== undefined && callKey !== found.callKey) return fold;
  const others = gates.entries.filter((entry) => entry !== found);
  if (outcome === undefined) return { ...fold, gates: { ...gates, entries: others } };
  const decided = { ...found, outcome, ...(text !== undefined && { text }), ...(by && { decidedBy: by }) };
  const entries = gates.entries.map((entry) => (entry === found ? decided : entry));
  const retries = gates.retries + (outcome === "retry" ? 1 : 0);
  // Between turns there is nothing to interrupt: what waits is held at once.
  const isHeld = outcome === "abort" && fold.turn === null;
  return { ...fold, gates: { ...gates, entries, retries }, ...(isHeld && { stoppedAt: "gate" as const }) };
}

/** Some calls name no file in their input: they tell what they write as they begin, or as they end. */
function withFiles(gates: FoldGates, { toolCallId, files }: EventOf<"tool_call_update">): FoldGates {
  if (!files) return gates;
  const told = files.map(({ path }) => path);
  const calls = gates.calls.map((call) =>
    call.toolCallId === toolCallId && call.endedSeq === undefined
      ? { ...call, ...bounded({ ...call, paths: [...new Set([...call.paths, ...told])] }) }
      : call,
  );
  return { ...gates, calls };
}

function endCall(gates: FoldGates, event: EventOf<"tool_call_update">): FoldGates {
  const { toolCallId, status, reason, seq } = event;
  if (status === "in_progress") return gates;
  const call = gates.calls.find((one) => one.toolCallId === toolCallId && one.endedSeq === undefined);
  const entries =
    reason === "interrupted"
      ? gates.entries
      : gates.entries.filter(({ at, waits }) => at !== "before_step" || waits !== toolCallId);
  // A call that was not let run is no step.
  if (!call || reason !== undefined)
    return { ...gates, entries, calls: gates.calls.filter((one) => one !== call) };
  const failed = status === "failed" ? (ownValue(gates.failures, call.name) ?? 0) + 1 : 0;
  return {
    ...gates,
    entries,
    steps: gates.steps + 1,
    failures: { ...gates.failures, [call.name]: failed },
    calls: gates.calls.map((one) => (one === call ? { ...one, endedSeq: seq } : one)),
  };
}

function endTurn(fold: ThreadFold, gates: FoldGates, { stopReason }: EventOf<"turn_end">): ThreadFold {
  const isAborted = gates.entries.some((entry) => isOfTurn(entry) && entry.outcome === "abort");
  return {
    ...fold,
    ...(isAborted && { stoppedAt: "gate" as const }),
    gates: {
      ...gates,
      entries: gates.entries.filter((entry) => !isOfTurn(entry)),
      calls: [],
      failures: {},
      // Tried again after a failure, it is the same turn to whoever counts.
      retries: stopReason === "error" ? gates.retries : 0,
    },
  };
}

function bounded({ name, command, paths }: GatedCall): GatedCall {
  const some = paths.slice(0, MAX_PATHS).map((path) => path.slice(0, MAX_COMMAND));
  return { name, paths: some, ...(command !== undefined && { command: command.slice(0, MAX_COMMAND) }) };
}
