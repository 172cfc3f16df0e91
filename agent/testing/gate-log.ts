/** A transcript with gates, and an engine that waits, for tests of gates' decisions. */

import { type EventBody, type ThreadEvent, toEvent } from "../../shared/agent/events.ts";
import { emptyFold, foldEvent } from "../../shared/agent/fold.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import type { Gate } from "../../shared/agent/gates.ts";
import type { OpenRequest } from "../engine.ts";
import { GateKeeper } from "../gates/gate-keeper.ts";
import type { Command } from "../process/sandbox.ts";
import type { Seat } from "../seat.ts";
import { config, launch } from "./thread.ts";

/** The call that waits. */
export const INPUT = { command: "git push" };

export class GateLog {
  fold: ThreadFold = emptyFold();
  readonly lastLaunch = launch;

  constructor(gates: readonly Gate[]) {
    this.add({
      type: "thread_start",
      v: 1,
      threadId: "t",
      createdBy: "discord:7",
      config: { ...config.agent, gates },
    } as never);
    this.start(1);
  }

  add(...bodies: EventBody[]): void {
    for (const body of bodies) {
      const seq = this.fold.seq + 1;
      const event = { ...body, seq, id: `r${seq}.0`, ts: new Date().toISOString() };
      this.fold = foldEvent(this.fold, toEvent(event) as ThreadEvent);
    }
  }

  append(_source: null, bodies: readonly EventBody[]): void {
    this.add(...bodies);
  }

  start(generation: number): void {
    const names = { engine: "claude", version: "2.1.330", sessionId: "s", model: "m", modeId: "default" };
    this.add({ type: "engine_start", generation, ...names, resumed: generation > 1 });
    this.add({ type: "turn_start", turnId: `t${generation}`, cause: "message", deliveryIds: [] });
  }

  call(toolCallId: string): void {
    this.add({
      ...{ type: "tool_call", toolCallId, at: toolCallId, name: "Bash", title: "Bash git push" },
      ...{ kind: "execute", rawInput: INPUT },
    });
  }
}

/** An engine that waits before the call. */
export function seatAt(toolCallId: string, generation: number, more: Partial<OpenRequest> = {}): Seat {
  const hook = { requestId: `hook ${toolCallId}`, kind: "hook", toolCallId, call: { side: "before" } };
  const request = { ...hook, ...more };
  return {
    ...{ launch: { ...launch, generation }, sent: new Map(), held: new Set(), refused: new Map() },
    ...{ hasReadAll: true, isEnding: false, outputBytes: 0, sinceMs: Date.now(), idleSinceMs: Date.now() },
    state: {
      ...{ generation, isOpen: true, isBusy: true, received: [], live: {} },
      requests: { [request.requestId]: request },
    },
    session: { callOf: () => ({ name: "Bash", input: INPUT }) },
  } as unknown as Seat;
}

/** @param folder the thread's; needed if a directive decides */
export function keeperAt(
  log: GateLog,
  gates: readonly Gate[],
  folder = "/nowhere",
  dir = config.dir,
): GateKeeper {
  const options = { folder, env: {}, keep: (command: Command) => command, onChange: () => undefined };
  return new GateKeeper(
    { ...options, config: { ...config, dir, agent: { ...config.agent, gates: [...gates] } } },
    log,
  );
}
