/** The engine at work: its process, what its output came to, and what it was sent. */
import type { EventBody } from "../shared/agent/events.ts";
import type { Line } from "../shared/agent/jsonl.ts";
import type { EndReason, Running } from "./core/decide.ts";
import type { Engine, EngineState, Launch, TranslateContext } from "./engine.ts";
import type { EngineProcess } from "./process/engine-process.ts";

export class Seat implements Running {
  readonly launch: Launch;
  readonly process: EngineProcess;
  readonly sent = new Map<string, number>();
  readonly sinceMs: number;
  readonly #engine: Engine;
  #state: EngineState;
  #end: EndReason | undefined;
  idleSinceMs: number;

  constructor(engine: Engine, launch: Launch, process: EngineProcess, state: EngineState, nowMs: number) {
    this.#engine = engine;
    this.launch = launch;
    this.process = process;
    this.#state = state;
    this.sinceMs = nowMs;
    this.idleSinceMs = nowMs;
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

  send(key: string, line: string, nowMs: number): void {
    this.process.send(line);
    this.sent.set(key, nowMs);
  }

  tellToEnd(reason: EndReason): void {
    this.#end ??= reason;
  }
}
