/** The engine at work: its process, what its output came to, and what it was sent. */
import type { EndReason, Running } from "./core/decide.ts";
import type { EngineSession, EngineState, Launch } from "./engine.ts";
import type { EngineProcess } from "./process/engine-process.ts";
import { SaidBefore } from "./said-before.ts";

interface SeatOptions {
  launch: Launch;
  process: EngineProcess;
  session: EngineSession;
  nowMs: number;
}

export class Seat implements Running {
  readonly launch: Launch;
  readonly process: EngineProcess;
  readonly session: EngineSession;
  readonly saidBefore = new SaidBefore();
  readonly sent = new Map<string, number>();
  readonly sinceMs: number;
  #end: EndReason | undefined;
  idleSinceMs: number;
  readonly held = new Set<string>();
  readonly refused = new Map<string, string>();
  /** People know that some of its asks are refused. */
  hasToldBound = false;

  constructor({ launch, process, session, nowMs }: SeatOptions) {
    this.launch = launch;
    this.process = process;
    this.session = session;
    this.sinceMs = nowMs;
    this.idleSinceMs = nowMs;
  }

  get hasReadAll(): boolean {
    return this.session.hasReadAll;
  }

  get outputBytes(): number {
    return this.process.output.byte;
  }

  get state(): EngineState {
    return this.session.state;
  }

  /** Why it was told to end; undefined if it was not. */
  get end(): EndReason | undefined {
    return this.#end;
  }

  get isEnding(): boolean {
    return this.#end !== undefined;
  }

  send(key: string, line: string, nowMs: number): void {
    this.process.send(line);
    this.sent.set(key, nowMs);
  }

  /** Says what the process must hear first, or lacks of that. */
  start(nowMs: number): void {
    for (const [at, line] of this.session.start().entries()) this.send(`start ${at}`, line, nowMs);
  }

  /** Looks which requests may be answered by now, as far as the engine is concerned. */
  lookAtCalls(nowMs: number): void {
    this.held.clear();
    for (const requestId of this.session.unready(nowMs))
      if (!this.sent.has(`answer ${requestId}`)) this.held.add(requestId);
  }

  close(): void {
    this.session.close();
    this.process.close();
  }

  tellToEnd(reason: EndReason): void {
    this.#end ??= reason;
  }
}
