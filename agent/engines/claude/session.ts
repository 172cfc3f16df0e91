/** A session with one process of claude. It knows what the process has printed, and which of our lines it has had. */
import { randomUUID } from "node:crypto";
import type { EventBody } from "../../../shared/agent/events.ts";
import { hasGateAt } from "../../../shared/agent/gates.ts";
import type { Line } from "../../../shared/agent/jsonl.ts";
import type {
  Answer,
  ContentPart,
  DeliveryMarks,
  EngineControl,
  EngineSession,
  HeldCall,
  OpenRequest,
  SessionRequest,
  TranslateContext,
} from "../../engine.ts";
import { SentLines } from "../../folder/sent-lines.ts";
import {
  answerLine,
  deliveryLine,
  engineControlLine,
  goOnLine,
  keepOnLine,
  openLine,
  pingLine,
  refusalLine,
  stopCallLine,
} from "./control.ts";
import { receiptOf } from "./receipts.ts";
import { SavedCalls } from "./saved-calls.ts";
import { beginClaude, type ClaudeState } from "./state.ts";
import { heldCallOf, translateClaude } from "./translate.ts";

/** A call that claude has not saved by then may begin all the same. */
const MAX_HOLD_MS = 5_000;

export class ClaudeSession implements EngineSession {
  readonly #request: SessionRequest;
  readonly #saved: SavedCalls;
  /** Undefined if nobody knows what was sent. */
  readonly #sentLines: SentLines | undefined;
  readonly #pingId = randomUUID();
  readonly #seenMs = new Map<string, number>();
  #state: ClaudeState;

  /** @param findSession the conversation's file, once it is there */
  constructor(request: SessionRequest, findSession: () => string | undefined) {
    const { launch, folder, isOurs } = request;
    this.#request = request;
    this.#state = beginClaude(launch);
    this.#saved = new SavedCalls(findSession);
    this.#sentLines = isOurs
      ? SentLines.begin(folder, launch.generation)
      : SentLines.find(folder, launch.generation);
  }

  get state(): ClaudeState {
    return this.#state;
  }

  /** The reply to a ping tells that it has read all that an earlier runner sent. */
  get hasReadAll(): boolean {
    return this.#request.isOurs || this.#state.pong === this.#pingId;
  }

  start(): string[] {
    const lines = [
      ...(this.#state.isOpen ? [] : [openLine(this.#hasEndGate)]),
      ...(this.hasReadAll ? [] : [pingLine(this.#pingId)]),
    ];
    return lines.map((line) => this.#noted(line));
  }

  hear(line: Line, context: TranslateContext): EventBody[] | "forged" {
    if (this.#isForged(line)) return "forged";
    const { state, events } = translateClaude(this.#state, line, context);
    this.#state = state;
    return events;
  }

  deliver(deliveryId: string, content: readonly ContentPart[], marks: DeliveryMarks): string {
    return this.#noted(deliveryLine(deliveryId, content, marks));
  }

  answer(request: OpenRequest, answer: Answer): string {
    return this.#noted(this.#answerLine(request, answer));
  }

  control(control: EngineControl): string {
    return this.#noted(engineControlLine(control));
  }

  callOf({ byte, bytes, toolCallId }: OpenRequest): HeldCall | undefined {
    const call = heldCallOf(this.#request.textAt(byte, bytes));
    const cwd = this.#state.tools[toolCallId]?.cwd;
    return call && cwd !== undefined ? { ...call, cwd } : call;
  }

  unready(nowMs: number): string[] {
    return Object.values(this.#state.requests).flatMap(({ requestId, toolCallId, isBeforeCall }) => {
      if (!isBeforeCall) return [];
      const seenMs = this.#seenMs.get(requestId) ?? nowMs;
      this.#seenMs.set(requestId, seenMs);
      return nowMs - seenMs < MAX_HOLD_MS && !this.#saved.has(toolCallId) ? [requestId] : [];
    });
  }

  close(): void {
    this.#saved.close();
    this.#sentLines?.close();
  }

  get #hasEndGate(): boolean {
    const { config, launch } = this.#request;
    return hasGateAt(config.agent.gates, "after_complete", launch.isUntrusted);
  }

  #answerLine(request: OpenRequest, answer: Answer): string {
    const { requestId, byte, bytes } = request;
    if (!("reply" in answer)) return answerLine(answer, request, this.#request.textAt(byte, bytes));
    switch (answer.reply) {
      case "go_on":
        return goOnLine(request, answer.news);
      case "stop":
        return request.isBeforeEnd
          ? keepOnLine(requestId, answer.reason)
          : stopCallLine(requestId, answer.reason);
      case "unknown":
        return refusalLine(requestId);
    }
  }

  /** Before a line is sent: no echo of it comes earlier. */
  #noted(line: string): string {
    const receipt = receiptOf(line);
    if (receipt) this.#sentLines?.note(receipt);
    return line;
  }

  /**
   * Whether claude says that it has an answer, or a request, which no runner has sent it. Its commands can write into
   * its input as we can.
   */
  #isForged({ text }: Line): boolean {
    const told = this.#sentLines && receiptOf(text);
    if (!told || told.kind === "request") return false; // its own request
    if (this.#sentLines?.takes(told)) return false;
    // It replies to a request, unless it has asked itself.
    return (
      this.#state.requests[told.id] !== undefined || !this.#sentLines?.takes({ ...told, kind: "request" })
    );
  }
}
