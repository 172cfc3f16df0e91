/** The translation of our program's lines remembers this from line to line: plain JSON of bounded size. */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { EngineState, Launch } from "../../engine.ts";

export interface AcpState extends EngineState {
  turn: { turnId: string } | null;
  /** Tool calls without an end, and when each began. */
  calls: Record<string, number>;
  /** The conversation's cost when the turn began, and by now, as the agent tells it. */
  costUsd: { before: number; now: number };
}

export interface Translated {
  state: AcpState;
  events: EventBody[];
}

export function beginAcp({ generation, costUsd = 0 }: Launch): AcpState {
  return {
    generation,
    isOpen: false,
    requests: {},
    received: [],
    isBusy: false,
    live: {},
    turn: null,
    calls: {},
    costUsd: { before: costUsd, now: costUsd },
  };
}
