/** claude's replies to our control requests; the request's id says which one. */
import * as z from "zod";
import type { EventBody } from "../../../shared/agent/events.ts";
import type { TranslateContext } from "../../engine.ts";
import { COST_ID, OPEN_ID, PING_ID } from "./control.ts";
import type { ClaudeReply } from "./lines.ts";
import { type ClaudeState, costSince, hearState, startEngine } from "./state.ts";
import type { Translated } from "./translate-turn.ts";

const openReply = z.looseObject({
  claude_code_version: z.string().default("unknown"),
  current_permission_mode: z.string().default("default"),
  capabilities: z.array(z.string()).default([]),
  session_state: z.string().optional(),
  models: z.array(z.looseObject({ value: z.string(), resolvedModel: z.string().optional() })).default([]),
});

export function replyLine(
  state: ClaudeState,
  { response }: ClaudeReply,
  context: TranslateContext,
): Translated {
  const { request_id: requestId, subtype, error } = response;
  const isFailed = subtype !== "success";
  if (requestId === OPEN_ID) {
    if (isFailed || state.isOpen) return { state, events: [] };
    return opened(state, openReply.parse(response.response ?? {}), context);
  }
  if (requestId.startsWith(PING_ID)) {
    return { state: { ...state, pong: requestId.slice(PING_ID.length) }, events: [] };
  }
  if (requestId.startsWith(COST_ID)) return costTold(state, requestId, response.response);
  const [op = ""] = requestId.split("-");
  if (isFailed && op === "rules") return rulesKept(state, error ?? "refused");
  if (isFailed) return { state, events: refused(op, error ?? "refused", state) };
  const { fold } = context;
  if (op === "mode") {
    const modeId = fieldOf(response.response, "mode") ?? state.modeId;
    const by = fold.pending.mode?.by;
    return {
      state: { ...state, modeId },
      events: [{ type: "current_mode_update", modeId, ...(by && { by }) }],
    };
  }
  if (op === "model") {
    const model = fieldOf(response.response, "model") ?? state.model;
    const by = fold.pending.model?.by;
    return { state: { ...state, model }, events: [{ type: "config_update", model, ...(by && { by }) }] };
  }
  return { state, events: [] };
}

function opened(state: ClaudeState, reply: z.infer<typeof openReply>, context: TranslateContext): Translated {
  // One that does not tell its state has said "started" by now of a turn that it takes up.
  const told = reply.session_state ?? (state.beginsWith === null ? "idle" : "running");
  const open = hearState({ ...state, isOpen: true }, told);
  if (state.isStarted) return { state: open, events: [] };
  const { config, fold } = context;
  const wanted = fold.chosen.model ?? config.agent.model ?? "default";
  const model = reply.models.find(({ value }) => value === wanted)?.resolvedModel ?? wanted;
  const { claude_code_version: version, current_permission_mode: modeId, capabilities } = reply;
  return startEngine(open, { version, model, modeId, capabilities }, context);
}

const usageReply = z.looseObject({ session: z.looseObject({ total_cost_usd: z.number().nonnegative() }) });

/** Refused, or in other words than these: whoever waits goes on with what the calls were told to have used. */
function costTold(state: ClaudeState, requestId: string, reply: unknown): Translated {
  const next = { ...state, costFor: requestId.slice(COST_ID.length) };
  const told = usageReply.safeParse(reply).data;
  if (!told || !state.turn) return { state: next, events: [] };
  const amount = costSince(state, told.session.total_cost_usd);
  return { state: next, events: [{ type: "spend_update", cost: { amount, currency: "USD" } }] };
}

/** A control that the engine refused: people are told, and what it had stays. */
function refused(op: string, error: string, state: ClaudeState): EventBody[] {
  const notice: EventBody = { type: "notice", severity: "warning", title: `${op}: ${error}` };
  if (op === "mode") return [notice, { type: "current_mode_update", modeId: state.modeId }];
  if (op === "model") return [notice, { type: "config_update", model: state.model }];
  return op === "interrupt" || op === "end_task" ? [notice] : [];
}

/** It is started anew as soon as it rests, and then has none of them. */
function rulesKept(state: ClaudeState, error: string): Translated {
  const title = "The agent's program keeps a withdrawn rule until this turn has ended";
  const notice: EventBody = { type: "notice", severity: "warning", title, description: error };
  return { state: { ...state, keepsRules: true }, events: [notice] };
}

function fieldOf(reply: unknown, name: string): string | undefined {
  const value = (reply as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === "string" ? value : undefined;
}
