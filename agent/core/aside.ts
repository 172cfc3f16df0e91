/**
 * An agent that hears a channel does not wait for people: an ask of a call is put aside if something else comes in, or
 * after a minute. The model is told that the call did not run; a decision comes as an input, and lets the same call run
 * once. Pure.
 */

import { callKeyOf } from "../../shared/agent/call-key.ts";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import { ALLOWED_MS } from "../../shared/agent/fold-aside.ts";
import { findAsk } from "../../shared/agent/fold-asks.ts";
import type { OpenAsk, ThreadFold } from "../../shared/agent/fold-types.ts";
import type { EngineState, HeldCall, OpenRequest, Refusal } from "../engine.ts";

/** Longest time for which an ask holds up the agent while nothing else comes in, in milliseconds. */
const PATIENCE_MS = 60_000;
const MAX_TOLD = 2_000;
/** Most asks that may be put aside at a time; the model's next one is refused. */
const MAX_ASIDE = 50;

export interface AsideLook {
  fold: ThreadFold;
  agent: Pick<ThreadConfig["agent"], "voice">;
  /** The call that a request is about. */
  callOf: (request: OpenRequest) => HeldCall | undefined;
  /** Hashes the state of the files at these paths; the hash is another one if one of them has changed. */
  stateOf: (paths: readonly string[]) => string;
  nowMs: number;
}

/**
 * The engine process's requests: the open ones, what the runner has sent it, and the ids of those that wait for
 * something else.
 */
interface Requests {
  state: Pick<EngineState, "requests">;
  sent: ReadonlyMap<string, number>;
  held: ReadonlySet<string>;
}

/**
 * @returns the events that put open asks aside, answer them by an earlier decision, or refuse them because too many
 * wait
 */
export function asideBodies(look: AsideLook, { state, sent, held }: Requests): EventBody[] {
  const { fold, agent } = look;
  if (agent.voice === undefined || fold.asks.length === 0) return [];
  return Object.values(state.requests).flatMap((request): EventBody[] => {
    const { requestId, kind } = request;
    if (kind !== "ask" || held.has(requestId) || sent.has(`answer ${requestId}`)) return [];
    const ask = fold.asks.find((open) => open.requestId === requestId);
    return ask && !ask.aside && !ask.trust && !ask.limit && !ask.gate ? bodiesOf(look, request, ask) : [];
  });
}

function bodiesOf(look: AsideLook, request: OpenRequest, ask: OpenAsk): EventBody[] {
  const { fold, nowMs } = look;
  const isDue = isAwaited(fold) || nowMs - Date.parse(ask.askedAt) > PATIENCE_MS;
  const mayBeDecided = (fold.allowed?.length ?? 0) > 0 || fold.asks.some(({ aside }) => aside);
  if (!isDue && !mayBeDecided) return [];
  const { key, files } = namesOf(look, request, ask);
  const { requestId } = request;
  const decided = fold.allowed?.find(
    (one) => one.key === key && one.files === files && nowMs - Date.parse(one.at) < ALLOWED_MS,
  );
  if (decided) {
    const isThere = ask.options.some(({ optionId }) => optionId === decided.optionId);
    const first = ask.options.find((option) => option.kind === "allow_once")?.optionId;
    const optionId = isThere ? decided.optionId : first;
    const by = decided.by === undefined ? {} : { by: decided.by };
    if (optionId !== undefined)
      return [
        {
          type: "permission_response",
          ...{ requestId, outcome: "selected", optionId, decidedOn: decided.requestId },
          ...by,
        },
      ];
  }
  const same = fold.asks.find(({ aside }) => aside?.key === key && aside.files === files);
  if (!same && !isDue) return [];
  if (!same && fold.asks.filter(({ aside }) => aside).length >= MAX_ASIDE) return tooMany(ask);
  return [{ type: "ask_aside", requestId, key, files, ...(same && { sameAs: same.requestId }) }];
}

function tooMany({ requestId, kind, options }: OpenAsk): EventBody[] {
  if (kind === "question") return [{ type: "elicitation_response", requestId, action: "decline" }];
  const optionId = options.find((option) => option.kind.startsWith("reject"))?.optionId;
  const message = `${MAX_ASIDE} questions wait for people already; ask again when they are answered.`;
  const outcome = { outcome: "selected" as const, ...(optionId !== undefined && { optionId }) };
  return [{ type: "permission_response", requestId, ...outcome, message }];
}

/**
 * Tells whether a message waits for the agent: it is not sent yet, or the engine takes it only after the call has
 * ended.
 */
function isAwaited({ messages, deliveries }: ThreadFold): boolean {
  return messages.length > 0 || deliveries.some(({ status }) => status === "noted");
}

function namesOf(
  { callOf, stateOf }: AsideLook,
  request: OpenRequest,
  { toolName, callKey, kind }: OpenAsk,
): { key: string; files: string } {
  // All plans have the same key, because the plan's text is in a file of its own.
  if (kind === "plan") return { key: callKeyOf(toolName, {}), files: "" };
  const call = callOf(request);
  if (!call) return { key: callKey, files: "" };
  const isCommand = request.call?.kind === "execute";
  const what = { input: isCommand ? withoutDescription(call.input) : call.input, cwd: call.cwd ?? "" };
  const { path } = request.call ?? {};
  const paths = call.paths ?? (request.call?.kind === "edit" && path !== undefined ? [path] : []);
  return { key: callKeyOf(call.name, what), files: stateOf(paths) };
}

/** Leaves out a command's description, because the model words it differently when it calls again. */
function withoutDescription(input: unknown): unknown {
  if (typeof input !== "object" || input === null) return input;
  const { description: _, ...rest } = input as Record<string, unknown>;
  return rest;
}

/** Makes the answer that the engine gets in place of a person's. */
export function notRunYet({ requestId, kind }: OpenAsk): Refusal {
  const refusal =
    kind === "question"
      ? "Not answered yet: people are asked, and you will be told the answer. Do not ask again. Go on with something else, or end your turn."
      : "Not run: a person is asked whether it may. You will be told what they decide. Go on with something else, or end your turn.";
  return { requestId, refusal, isAside: true };
}

/**
 * Makes the input by which the agent hears a decision on an ask that was put aside. It comes after the decision's own
 * event.
 */
export function toldOfDecision(event: EventBody, fold: ThreadFold): EventBody[] {
  if (event.type !== "permission_response" && event.type !== "elicitation_response") return [];
  const ask = findAsk(fold, event.requestId);
  if (!ask?.aside || event.by === undefined) return [];
  const text = event.type === "elicitation_response" ? answerText(ask, event) : decisionText(ask, event);
  return [
    {
      type: "user_message",
      messageId: `decision-${ask.requestId}`,
      source: event.by,
      content: [{ type: "text", text }],
      plain: true,
      handle: "threadmux",
    },
  ];
}

function decisionText(ask: OpenAsk, { optionId, message }: EventBody<"permission_response">): string {
  const isYes = ask.options.find((option) => option.optionId === optionId)?.kind.startsWith("allow");
  const call = `${ask.toolName} ${ask.input.slice(0, MAX_TOLD)}`;
  if (isYes)
    return `Your call that was not run is allowed now: ${call}\nIf you still want it, call it again with exactly the same input: it then runs without another question, once, within 24 hours.`;
  const why = message === undefined ? "" : ` They say: ${message}`;
  return `Your call that was not run is denied: ${call}${why}`;
}

function answerText(ask: OpenAsk, { action, content = {} }: EventBody<"elicitation_response">): string {
  const question = JSON.stringify(ask.title.slice(0, MAX_TOLD));
  if (action !== "accept") return `Your question ${question} was declined.`;
  const answers = Object.entries(content).map(([name, answer]) => `${JSON.stringify(name)}: ${answer}`);
  return `Your question is answered.\n${answers.join("\n")}`;
}
