/**
 * The conversation as the transcript tells it. A process of this engine knows nothing else: what it does itself reaches
 * its history as the events that it prints, and a process that is started later reads the same events. A response of the
 * model counts if it has its end, because all of it is written at once.
 */
import * as z from "zod";
import type { EventBody, EventOf, ThreadEvent } from "../../../shared/agent/events.ts";
import type { ToolContent } from "../../../shared/agent/values.ts";
import { type Part, partSchema } from "./protocol.ts";

export type Item =
  | { kind: "said"; id: string; parts: Part[] }
  | { kind: "answer"; id: string; pieces: Piece[] };

export type Piece =
  | { type: "text" | "thought"; text: string; meta?: PieceMeta | undefined }
  | { type: "call"; callId: string; meta?: PieceMeta | undefined };

/** The fields that a provider wants back with its words. */
export const pieceMeta = z.object({
  /** Provider and model: what it means to no other. */
  by: z.string(),
  options: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
});
export type PieceMeta = z.infer<typeof pieceMeta>;

export interface Call {
  callId: string;
  name: string;
  title: string;
  kind: EventOf<"tool_call">["kind"];
  input: unknown;
  ask?: { requestId: string; isOpen: boolean; isQuestion?: true };
  /** It may have run from here on. */
  hasBegun: boolean;
  files: NonNullable<EventOf<"tool_call_update">["files"]>;
  end?: Pick<EventOf<"tool_call_update">, "status" | "reason"> & { content: readonly ToolContent[] };
}

export interface CompactionState {
  isRunning: boolean;
  /** The number of items at the last automatic compaction that saved too little. */
  vainAt?: number;
}

const MAX_NOTICES = 200;
const saidMeta = z.object({ said: z.array(partSchema) });

type Body = EventBody | ThreadEvent;
type OfType<T extends EventBody["type"]> = Extract<EventBody, { type: T }>;

export class History {
  /** From where the last compaction kept it. */
  items: Item[] = [];
  readonly calls = new Map<string, Call>();
  readonly rules = new Set<string>();
  /** Titles of what people were told, the last ones. */
  readonly notices = new Set<string>();
  summary: string | undefined;
  /** Deliveries of the turn that has not come to its end; undefined if there is none. */
  turn: string[] | undefined;
  /** How much of its context the model has used after its newest answer; 0 if that is not known. */
  context = { usedTokens: 0, sizeTokens: 0 };
  compaction: CompactionState = { isRunning: false };
  #open: { id: string; pieces: Piece[] } | undefined;
  readonly #options = new Map<string, EventOf<"permission_request">["options"]>();

  /** The newest thing that was said is the model's, and it called nothing. */
  get isAnswered(): boolean {
    return this.items.at(-1)?.kind === "answer" && this.lastCalls.length === 0;
  }

  /** The newest answer's text; empty if it has none. */
  get lastText(): string {
    const item = this.items.at(-1);
    if (item?.kind !== "answer") return "";
    return item.pieces.flatMap((piece) => (piece.type === "text" ? [piece.text] : [])).join("\n");
  }

  apply(event: Body): void {
    switch (event.type) {
      case "turn_start":
        this.turn = [...new Set([...(this.turn ?? []), ...event.deliveryIds])];
        return;
      case "turn_end":
        this.#endTurn(event);
        return;
      case "delivery_update":
        if (event.status === "started") {
          if (this.turn && !this.turn.includes(event.deliveryId)) this.turn.push(event.deliveryId);
          this.#hear(event.deliveryId, event.meta);
        }
        return;
      case "step_start":
        if (event.kind === "chat") this.#open = { id: event.stepId, pieces: [] };
        this.#hear(`before ${event.stepId}`, event.meta);
        return;
      case "step_end":
        this.#endStep(event);
        return;
      case "agent_message":
      case "agent_thought": {
        const type = event.type === "agent_message" ? "text" : "thought";
        this.#open?.pieces.push({ type, text: event.text, meta: pieceMeta.safeParse(event.meta).data });
        return;
      }
      case "tool_call":
        this.#beginCall(event);
        return;
      case "tool_call_update":
        this.#updateCall(event);
        return;
      case "permission_request":
        this.#openAsk(event);
        this.#options.set(event.requestId, event.options);
        return;
      case "elicitation_request":
        this.#openAsk(event, { isQuestion: true });
        return;
      case "permission_response":
        this.#closeAsk(event.requestId);
        if (event.outcome === "selected") this.grant(event.requestId, event.optionId);
        return;
      case "elicitation_response":
        this.#closeAsk(event.requestId);
        return;
      case "control":
        if (event.op === "rules") for (const rule of event.withdraw) this.rules.delete(rule);
        return;
      case "usage_update":
        this.context = { usedTokens: event.used, sizeTokens: event.size };
        return;
      case "compaction_update":
        this.#compact(event);
        return;
      case "notice":
        this.#note(event.title);
        return;
      default:
        return;
    }
  }

  /** The calls of the newest answer, if it has any. */
  get lastCalls(): Call[] {
    const last = this.items.at(-1);
    if (last?.kind !== "answer") return [];
    return last.pieces.flatMap((piece) =>
      piece.type === "call" ? (this.calls.get(piece.callId) ?? []) : [],
    );
  }

  get openCalls(): Call[] {
    return this.lastCalls.filter(({ end }) => !end);
  }

  /** @returns the rule that the answer grants, if it does */
  grant(requestId: string, optionId: string | undefined): string | undefined {
    const option = this.#options.get(requestId)?.find((one) => one.optionId === optionId);
    if (option?.kind !== "allow_always" || option.rule === undefined) return undefined;
    this.rules.add(option.rule);
    return option.rule;
  }

  #note(title: string): void {
    this.notices.add(title);
    const [oldest = ""] = this.notices;
    if (this.notices.size > MAX_NOTICES) this.notices.delete(oldest);
  }

  #hear(id: string, meta: unknown): void {
    const { data } = saidMeta.safeParse(meta);
    if (data && data.said.length > 0) this.items.push({ kind: "said", id, parts: data.said });
  }

  #endStep({ stepId, status }: OfType<"step_end">): void {
    if (this.#open?.id !== stepId) return;
    const { pieces } = this.#open;
    this.#open = undefined;
    if (status !== "failed" && pieces.length > 0) this.items.push({ kind: "answer", id: stepId, pieces });
    else for (const piece of pieces) if (piece.type === "call") this.calls.delete(piece.callId);
  }

  #beginCall({ toolCallId: callId, name, title, kind, rawInput: input, meta }: OfType<"tool_call">): void {
    this.calls.set(callId, { callId, name, title, kind, input, hasBegun: false, files: [] });
    this.#open?.pieces.push({ type: "call", callId, meta: pieceMeta.safeParse(meta).data });
  }

  #updateCall({ toolCallId, status, reason, content = [], files }: OfType<"tool_call_update">): void {
    const call = this.calls.get(toolCallId);
    if (!call) return;
    if (status !== "in_progress") {
      call.end = { status, content, ...(reason && { reason }) };
      return;
    }
    delete call.end;
    call.hasBegun = true;
    if (files) call.files = files;
  }

  #openAsk(
    { toolCallId, requestId }: { toolCallId: string; requestId: string },
    more: { isQuestion?: true } = {},
  ): void {
    const call = this.calls.get(toolCallId);
    if (call) call.ask = { requestId, isOpen: true, ...more };
  }

  #closeAsk(requestId: string): void {
    for (const { ask } of this.calls.values()) if (ask?.requestId === requestId) ask.isOpen = false;
  }

  /** A turn that was cut off goes on: whoever stopped it by will leaves calls that are not run any more. */
  #endTurn({ stopReason }: OfType<"turn_end">): void {
    if (stopReason === "interrupted") return;
    this.turn = undefined;
    for (const call of this.openCalls)
      call.end = { status: "failed", reason: "interrupted", content: [textContent(NOT_RUN)] };
  }

  #compact({ status, trigger, summary, keptFrom }: OfType<"compaction_update">): void {
    const isVain = status === "failed" && trigger === "auto";
    this.compaction = {
      ...this.compaction,
      isRunning: status === "in_progress",
      ...(isVain && { vainAt: this.items.length }),
    };
    if (status !== "completed" || summary === undefined) return;
    this.summary = summary;
    this.context = { ...this.context, usedTokens: 0 };
    this.compaction = { isRunning: false };
    const at = this.items.findIndex(({ id }) => id === keptFrom);
    this.items = at < 0 ? [] : this.items.slice(at);
  }
}

export const NOT_RUN = "Not run: the turn was stopped.";

export function textContent(text: string): ToolContent {
  return { type: "content", content: { type: "text", text } };
}
