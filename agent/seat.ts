/** The engine at work: its process, what its output came to, and what it was sent. */
import { randomUUID } from "node:crypto";
import type { EventBody } from "../shared/agent/events.ts";
import type { Line } from "../shared/agent/jsonl.ts";
import type { EndReason, Running } from "./core/decide.ts";
import type { Engine, EngineState, Env, Launch, TranslateContext } from "./engine.ts";
import type { SentLines } from "./folder/sent-lines.ts";
import type { EngineProcess } from "./process/engine-process.ts";

const MAX_HOLD_MS = 5_000;

interface SeatOptions {
  launch: Launch;
  process: EngineProcess;
  sentLines: SentLines | undefined;
  env: Env;
  nowMs: number;
}

export class Seat implements Running {
  readonly launch: Launch;
  readonly process: EngineProcess;
  readonly sent = new Map<string, number>();
  readonly sinceMs: number;
  readonly #engine: Engine;
  #state: EngineState;
  #end: EndReason | undefined;
  idleSinceMs: number;
  readonly held = new Set<string>();
  readonly refused = new Map<string, string>();
  readonly #saved: ReturnType<Engine["savedCalls"]>;
  readonly #pingId = randomUUID();
  readonly #seenMs = new Map<string, number>();
  /** Undefined if nobody knows. */
  readonly #sentLines: SentLines | undefined;

  constructor(engine: Engine, { launch, process, sentLines, env, nowMs }: SeatOptions) {
    this.#engine = engine;
    this.#sentLines = sentLines;
    this.launch = launch;
    this.process = process;
    this.#state = engine.begin(launch);
    this.#saved = engine.savedCalls(launch.sessionId, env);
    this.sinceMs = nowMs;
    this.idleSinceMs = nowMs;
  }

  get hasReadAll(): boolean {
    return this.process.isOurs || this.#state.dropsRepeats === true || this.#state.pong === this.#pingId;
  }

  get outputBytes(): number {
    return this.process.output.byte;
  }

  get state(): EngineState {
    return this.#state;
  }

  /** Why it was told to end; undefined if it was not. */
  get end(): EndReason | undefined {
    return this.#end;
  }

  get isEnding(): boolean {
    return this.#end !== undefined;
  }

  /** @throws Error if the line can't be read. */
  translate(line: Line, context: TranslateContext): EventBody[] {
    const { state, events } = this.#engine.translate(this.#state, line, context);
    this.#state = state;
    return events;
  }

  /**
   * Whether the engine says that it has an answer, or a request, which no runner has sent it. Its commands can write
   * into its input as we can.
   */
  isForged({ text }: Line): boolean {
    const told = this.#sentLines && this.#engine.receiptOf?.(text);
    if (!told || told.kind === "request") return false; // the engine's own request
    if (this.#sentLines?.takes(told)) return false;
    // It replies to a request, unless it has asked itself.
    return (
      this.#state.requests[told.id] !== undefined || !this.#sentLines?.takes({ ...told, kind: "request" })
    );
  }

  send(key: string, line: string, nowMs: number): void {
    const receipt = this.#engine.receiptOf?.(line);
    if (receipt) this.#sentLines?.note(receipt);
    this.process.send(line);
    this.sent.set(key, nowMs);
  }

  /** Asks an engine of an earlier runner whether it has read what that one has sent. */
  ping(nowMs: number): void {
    this.send("ping", this.#engine.control({ op: "ping", id: this.#pingId }), nowMs);
  }

  /** Looks which calls have been saved meanwhile. One that is not saved in some seconds may begin all the same. */
  lookAtCalls(nowMs: number): void {
    this.held.clear();
    for (const { requestId, toolCallId, isBeforeCall } of Object.values(this.#state.requests)) {
      if (!isBeforeCall || this.sent.has(`answer ${requestId}`)) continue;
      const seenMs = this.#seenMs.get(requestId) ?? nowMs;
      this.#seenMs.set(requestId, seenMs);
      if (nowMs - seenMs < MAX_HOLD_MS && !this.#saved.has(toolCallId)) this.held.add(requestId);
    }
  }

  close(): void {
    this.#saved.close();
    this.#sentLines?.close();
    this.process.close();
  }

  tellToEnd(reason: EndReason): void {
    this.#end ??= reason;
  }
}
