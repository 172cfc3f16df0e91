/** The events by which a gate asks, and by which it is decided. Pure. */
import { randomUUID } from "node:crypto";
import type { EventBody, EventOf } from "../../shared/agent/events.ts";
import { GATE_MESSAGE } from "../../shared/agent/fold-gates.ts";
import type { GateEntry, OpenAsk, ThreadFold } from "../../shared/agent/fold-types.ts";
import {
  deciderOf,
  type Gate,
  type GateOutcome,
  MAX_ASKED,
  MAX_RETRIES,
  noOf,
} from "../../shared/agent/gates.ts";
import { job, printPrincipal, type Source } from "../../shared/principal.ts";
import { cancelAsk } from "./closing.ts";
import { cutInput } from "./cut-input.ts";
import type { GateWant } from "./gate-wants.ts";

export const BY_GATE: Source = printPrincipal(job("gate"));

type Options = EventOf<"permission_request">["options"];

/**
 * @param old the request that this one stands for: it was asked by a process that is gone, or nobody decided in time
 * @param attempt from 1
 */
export function gateRequest(
  fold: ThreadFold,
  want: GateWant,
  { old, attempt }: { old?: string | undefined; attempt: number },
): EventBody[] {
  const { gate, waits, callKey, title, toolName } = want;
  const { is } = deciderOf(gate);
  const requestId = `${GATE_MESSAGE}${gate.index}-${fold.seq}-${randomUUID().slice(0, 8)}`;
  const input = cutInput(want.input);
  const replaces = old === undefined ? {} : { replaces: old };
  const base = { requestId, callKey, title, toolName, input, ...replaces };
  const { steps = 0 } = fold.gates ?? {};
  const request: EventBody = {
    ...{ type: "gate_request", ...base, gate: gate.index, at: gate.at, by: is, waits, attempt, steps },
  };
  if (is !== "person") return [request];
  const isCall = gate.at === "before_step";
  const ask: EventBody = {
    ...{ type: "permission_request", ...base, gate: gate.at },
    toolCallId: isCall ? waits : "",
    options: optionsOf(gate),
    ...(gate.prompt !== undefined && { description: gate.prompt }),
  };
  return [request, ask];
}

/**
 * Gives the waiting call the decision on an equal call of a process that is gone. No other call gets that decision
 * then.
 */
export function takeOver(fold: ThreadFold, want: GateWant, entry: GateEntry): EventBody[] {
  return gateRequest(fold, want, { old: entry.requestId, attempt: entry.attempt }).slice(0, 1);
}

const NAMES = { retry: "Once more", fail: "Let it fail", abort: "Stop the turn" } as const;
const GO_ON: Readonly<Record<Gate["at"], string>> = {
  before_step: "Let it go on",
  after_step: "Go on",
  after_complete: "It is done",
  on_error: "Leave it",
  on_limit: "Go on",
};

/** Their ids are the outcomes. The first one lets something happen: a yes. */
function optionsOf(gate: Gate): Options {
  const no = noOf(gate);
  const stop: Options = [{ optionId: "abort", name: NAMES.abort, kind: "reject_always" }];
  if (gate.at === "on_error")
    return [
      { optionId: "retry", name: "Try again", kind: "allow_once" },
      { optionId: "continue", name: GO_ON.on_error, kind: "reject_once" },
      ...stop,
    ];
  const isCall = gate.at === "before_step";
  const name = isCall && no !== "abort" ? "Deny" : NAMES[no];
  return [
    { optionId: "continue", name: GO_ON[gate.at], kind: "allow_once" },
    { optionId: no, name, kind: "reject_once" },
    ...(no === "abort" ? [] : stop),
  ];
}

/** More than so many tries in a turn come to nothing. */
export function boundedOutcome(fold: ThreadFold, outcome: GateOutcome): GateOutcome {
  return outcome === "retry" && (fold.gates?.retries ?? 0) >= MAX_RETRIES ? "fail" : outcome;
}

export function gateResponse(
  { requestId, callKey }: Pick<GateEntry, "requestId" | "callKey">,
  outcome: EventOf<"gate_response">["outcome"],
  text?: string,
  by: Source = BY_GATE,
): EventBody<"gate_response"> {
  const said = text === undefined || text.trim() === "" ? {} : { text: text.trim() };
  return { type: "gate_response", requestId, callKey, outcome, ...said, by };
}

/** Makes the event of a decision and the notice by which people see it. */
export function decision(entry: GateEntry, outcome: GateOutcome, text: string): EventBody[] {
  const response = gateResponse(entry, outcome, text);
  return [response, ...noticesOf(entry, response)];
}

/** Makes the notice of a decision. A decision to continue, or one that was withdrawn, has none. */
export function noticesOf(
  { title }: Pick<GateEntry, "title">,
  { outcome, text = "" }: Pick<EventBody<"gate_response">, "outcome" | "text">,
): EventBody[] {
  if (outcome === "continue" || outcome === "withdrawn") return [];
  const notice = { severity: "warning" as const, title: `Gate: ${title}: ${outcome}` };
  return [{ type: "notice", ...notice, ...(text !== "" && { description: text }) }];
}

/** Nobody decided in time: it is asked again, and then it has failed. */
export function timedOut(fold: ThreadFold, want: GateWant, entry: GateEntry, ask?: OpenAsk): EventBody[] {
  if (entry.attempt >= MAX_ASKED) return expired(entry, ask);
  const cancelled = ask ? [cancelAsk(ask, "timeout")] : [];
  const again = gateRequest(fold, want, { old: entry.requestId, attempt: entry.attempt + 1 });
  return [...cancelled, ...again];
}

/** Fails a request on which nobody decided in time, without asking again. */
export function expired(entry: GateEntry, ask?: OpenAsk): EventBody[] {
  const cancelled = ask ? [cancelAsk(ask, "timeout")] : [];
  return [...decision(entry, "fail", "Nobody decided in time."), ...cancelled];
}

/** Nobody waits any more. */
export function withdrawn(entry: GateEntry, ask?: OpenAsk): EventBody[] {
  return ask ? [cancelAsk(ask, "withdrawn")] : [gateResponse(entry, "withdrawn")];
}

/** The sentence by which the model learns that a gate has decided against its call or its turn. */
export function toldOf({ at, outcome, text, title }: GateEntry): string {
  const why = text === undefined ? "" : `: ${text}`;
  switch (at) {
    case "before_step":
      return outcome === "retry"
        ? `A gate of this thread did not let this call run${why}. Change it accordingly, then try again.`
        : `A gate of this thread did not let this call run${why}. Do not try it again.`;
    case "after_complete":
      return `A gate of this thread says that you are not done${why}. Go on, then end your turn.`;
    default:
      return outcome === "retry"
        ? `A gate of this thread (${title}) wants it done otherwise${why}. Go on accordingly.`
        : `A gate of this thread (${title}) says that it has failed${why}.`;
  }
}

/** The turn is interrupted. */
export function interruptBy(entry: GateEntry): EventBody {
  return { type: "control", op: "interrupt", by: entry.decidedBy ?? BY_GATE };
}

/** The events by which a decision on a failed turn takes effect. */
export function afterFailureEvents(entry: GateEntry): EventBody[] {
  const { outcome, requestId, text, decidedBy = BY_GATE } = entry;
  if (outcome === "retry") {
    const words = text === undefined ? "The last turn failed. Try again." : text;
    return [
      {
        ...{ type: "user_message", messageId: requestId, source: decidedBy, plain: true },
        content: [{ type: "text", text: words }],
      },
    ];
  }
  if (outcome !== "fail") return [];
  return [{ type: "failure", code: "engine_refused", message: text ?? "A gate of the thread let it fail." }];
}

/** The turn's end as its gates leave it. @param gates those before a turn's end */
export function judgeEnd(
  end: EventBody<"turn_end">,
  fold: ThreadFold,
  gates: readonly { index: number }[],
): EventBody<"turn_end"> {
  // A turn in which the model said nothing, such as a command of the engine's, has no end that a gate is asked about.
  const isAsked = fold.gates?.entries.some(({ at }) => at === "after_complete") ?? false;
  if (end.stopReason !== "end_turn" || (!isAsked && (end.usage?.outputTokens ?? 0) === 0)) return end;
  for (const { index } of gates) {
    const last = fold.gates?.entries.findLast(({ gate, at }) => gate === index && at === "after_complete");
    if (last?.outcome === "continue") continue;
    const why = last?.text === undefined ? "" : `: ${last.text}`;
    const error =
      last?.outcome === undefined || last.outcome === "retry"
        ? "The turn ended before its gate had let it."
        : `A gate of the thread let the turn fail${why}`;
    return { ...end, stopReason: "error", error };
  }
  return end;
}
