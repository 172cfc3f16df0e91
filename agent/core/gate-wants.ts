/** Lists the calls, turns and limits that wait at a gate now, and finds the decision on each. Pure. */

import { callKeyOf } from "../../shared/agent/call-key.ts";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import type { GateEntry, ThreadFold } from "../../shared/agent/fold-types.ts";
import { fitsCall, gatedCall, type Place } from "../../shared/agent/gate-fit.ts";
import { gatesThatCount, type KeptGate } from "../../shared/agent/gates.ts";
import type { HeldCall, Launch, OpenRequest } from "../engine.ts";
import type { Running } from "./decide.ts";

export type CountedGate = KeptGate & { index: number };

/** Something that waits for a decision of one gate. */
export interface GateWant {
  gate: CountedGate;
  /** The engine's request that is held; undefined if the engine waits for nothing. */
  requestId?: string;
  /** The call, or the engine's request, or the turn. */
  waits: string;
  callKey: string;
  title: string;
  toolName: string;
  /** Whole. */
  input: unknown;
}

export interface Look {
  fold: ThreadFold;
  gates: readonly CountedGate[];
  callOf: (request: OpenRequest) => HeldCall | undefined;
  place: Place;
}

/** @param launch of the newest process: it tells whether the directory is trusted */
export function countedGates(
  { agent }: Pick<ThreadConfig, "agent">,
  launch: Pick<Launch, "isUntrusted"> | undefined,
): readonly CountedGate[] {
  return gatesThatCount(agent.gates, launch?.isUntrusted);
}

/** In the order of the gates, by request. */
export function gateWants(look: Look, running: Running | undefined): GateWant[] {
  if (look.gates.length === 0) return [];
  const requests = running ? Object.values(running.state.requests) : [];
  const { sent = new Map(), held = new Set() } = running ?? {};
  const open = requests.filter(({ requestId }) => !sent.has(`answer ${requestId}`) && !held.has(requestId));
  return [...open.flatMap((request) => wantsOf(look, request)), ...afterFailure(look)];
}

function wantsOf(look: Look, request: OpenRequest): GateWant[] {
  if (request.isBeforeEnd) return beforeEnd(look, request);
  if (request.isAfterCalls) return request.isSubagent ? [] : afterCalls(look, request);
  const isAsk = request.kind === "ask";
  const isBefore = request.kind === "hook" && request.call?.side === "before";
  if (!isBefore && !(isAsk && isAllowed(look.fold, request.requestId))) return [];
  return beforeCall(look, request, isAsk);
}

/** @param isAsk a person has said yes to it already: that is what a gate by a person would ask */
function beforeCall({ fold, gates, callOf, place }: Look, request: OpenRequest, isAsk: boolean): GateWant[] {
  const at = gates.filter((gate) => gate.at === "before_step" && !(isAsk && gate.by === "person"));
  if (at.length === 0) return [];
  const call = callOf(request);
  if (!call) return [];
  const gated = gatedCall(call.name, call.input, call.paths);
  const { requestId, toolCallId } = request;
  const title = fold.toolCalls.find((one) => one.toolCallId === toolCallId)?.title ?? call.name;
  return at
    .filter((gate) => fitsCall(gate.if, gated, place))
    .map((gate) => ({
      ...{ gate, requestId, waits: toolCallId, title },
      ...{ callKey: callKeyOf(call.name, call.input), toolName: call.name, input: call.input },
    }));
}

function isAllowed(fold: ThreadFold, requestId: string): boolean {
  const response = fold.recordedAnswers.find((answer) => answer.requestId === requestId)?.response;
  return response?.kind === "permission" && response.optionId !== "no";
}

/** Quality checks, and tools that fail again and again. */
function afterCalls({ fold, gates, place }: Look, { requestId }: OpenRequest): GateWant[] {
  const { calls = [], steps = 0, failures = {}, seen = {}, entries = [] } = fold.gates ?? {};
  return gates.flatMap((gate): GateWant[] => {
    const isAsked = entries.some((entry) => entry.gate === gate.index && entry.waits === requestId);
    const last = seen[gate.index] ?? { seq: 0, steps: 0 };
    const want = (title: string, toolName: string, input: unknown): GateWant[] => [
      { gate, requestId, waits: requestId, callKey: callKeyOf(toolName, input), title, toolName, input },
    ];
    if (isAsked) return entriesAsWants(gate, entries, requestId);
    if (gate.at === "on_error" && gate.if?.failures !== undefined) {
      const { failures: times, tool = "*" } = gate.if;
      const found = Object.entries(failures).find(
        ([name, count]) => count >= times && fitsCall({ tool }, { name, paths: [] }, place),
      );
      return found ? want(`${found[0]} failed ${found[1]} times`, found[0], { failures: found[1] }) : [];
    }
    if (gate.at !== "after_step") return [];
    const every = gate.if?.every;
    if (every !== undefined)
      return Math.floor(steps / every) > Math.floor(last.steps / every)
        ? want(`After ${steps} calls`, "Steps", { steps })
        : [];
    const fitting = calls.filter((call) => (call.endedSeq ?? 0) > last.seq && fitsCall(gate.if, call, place));
    if (fitting.length === 0) return [];
    const told = fitting.map(({ name, command, paths }) => ({ name, command, paths }));
    return want(
      `After ${fitting
        .map(({ name }) => name)
        .join(", ")
        .slice(0, 150)}`,
      "Steps",
      { calls: told },
    );
  });
}

/** Asked already: as it was asked, whatever has ended since. */
function entriesAsWants(gate: CountedGate, entries: readonly GateEntry[], requestId: string): GateWant[] {
  return entries
    .filter((entry) => entry.gate === gate.index && entry.waits === requestId)
    .map(({ callKey, title, toolName, input }) => ({
      ...{ gate, requestId, waits: requestId, callKey, title, toolName },
      input: parsed(input),
    }));
}

function beforeEnd({ gates, callOf }: Look, request: OpenRequest): GateWant[] {
  const at = gates.filter((gate) => gate.at === "after_complete");
  const call = at.length === 0 ? undefined : callOf(request);
  if (!call) return [];
  const { requestId } = request;
  const { name: toolName, input } = call;
  const callKey = callKeyOf(toolName, input);
  return at.map((gate) => ({
    ...{ gate, requestId, waits: requestId, callKey, toolName, input },
    title: "The turn is about to end",
  }));
}

/** The gates at which a turn that has failed waits. */
function afterFailure({ fold, gates }: Look): GateWant[] {
  const { failure, turn, turnCount, isKilled, isPaused } = fold;
  if (turn !== null || failure?.code !== "engine_refused" || isKilled || isPaused) return [];
  if (fold.stoppedAt === "gate") return [];
  const at = gates.filter((gate) => gate.at === "on_error" && gate.if?.failures === undefined);
  const input = { error: failure.message };
  const waits = `turn ${turnCount}`;
  return at.map((gate) => {
    // Decided on, it may have failed in other words.
    const asked = fold.gates?.entries.find((entry) => entry.gate === gate.index && entry.waits === waits);
    const callKey = asked?.callKey ?? callKeyOf("Failure", input);
    const title = `The turn failed: ${failure.message.replace(/\s+/g, " ").slice(0, 150)}`;
    return { gate, waits, callKey, toolName: "Failure", input, title };
  });
}

/** Finds the request that this engine process, or an earlier one, has caused for what waits at the gate. */
export function entryOf(fold: ThreadFold, { gate, callKey, waits }: GateWant): GateEntry | undefined {
  const generation = fold.engine?.generation ?? 0;
  const asked = (fold.gates?.entries ?? []).filter(
    (entry) => entry.gate === gate.index && entry.callKey === callKey,
  );
  return asked.find((entry) => entry.waits === waits) ?? asked.find((entry) => entry.generation < generation);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json; // it was cut
  }
}
