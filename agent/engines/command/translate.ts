/** Our adapter's lines as transcript events: no steps, no asks. Pure. */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { Line } from "../../../shared/agent/jsonl.ts";
import { turnIdOf } from "../../../shared/agent/turn-id.ts";
import type { EngineState, Launch, TranslateContext } from "../../engine.ts";
import { type FromAdapter, fromAdapter } from "./protocol.ts";

export interface CommandState extends EngineState {
  /** The delivery that the program works on, and its turn. */
  turn: { turnId: string; deliveryId: string } | null;
}

type Translated = { state: CommandState; events: EventBody[] };

const CUT_OFF =
  "The program was cut off in its work, and was not run again: what it did may be done in part. Write again if it is to run.";

export function beginCommand({ generation }: Launch): CommandState {
  const live = { generation, isOpen: false, requests: {}, received: [], isBusy: false, live: {} };
  return { ...live, turn: null };
}

/** @throws Error if the line can't be read. */
export function translateCommand(state: CommandState, line: Line, context: TranslateContext): Translated {
  const said = fromAdapter.parse(JSON.parse(line.text));
  switch (said.type) {
    case "ready":
      return ready(state, line, context);
    case "taken": {
      const turnId = turnIdOf(context.launch, line.byte);
      return {
        state: { ...state, isBusy: true, received: [said.id], turn: { turnId, deliveryId: said.id } },
        events: [
          { type: "turn_start", turnId, cause: "message", deliveryIds: [said.id] },
          { type: "delivery_update", deliveryId: said.id, status: "started" },
        ],
      };
    }
    case "answer":
      return answered(state, said, line, context);
  }
}

/** A delivery that an earlier process took and did not answer is told, and never run again. */
function ready(state: CommandState, line: Line, { config, launch }: TranslateContext): Translated {
  const { program } = config.launch;
  const start: EventBody = {
    type: "engine_start",
    generation: state.generation,
    engine: config.agent.engine,
    version: "1",
    sessionId: launch.sessionId,
    model: program,
    modeId: "default",
    resumed: launch.resumed,
  };
  // It takes nothing up: what an earlier process was killed over is told here.
  const next = { ...state, isOpen: true, takesUpNothing: true };
  if (!launch.takesUp) return { state: next, events: [start] };
  const turnId = turnIdOf(launch, line.byte);
  return {
    state: next,
    events: [
      start,
      { type: "turn_start", turnId, cause: "resume", deliveryIds: launch.taken },
      { type: "turn_end", turnId, stopReason: "error", error: CUT_OFF },
      ...launch.taken.map(
        (deliveryId): EventBody => ({ type: "delivery_update", deliveryId, status: "completed" }),
      ),
    ],
  };
}

function answered(
  state: CommandState,
  said: Extract<FromAdapter, { type: "answer" }>,
  line: Line,
  { launch }: TranslateContext,
): Translated {
  const { id: deliveryId, text, problem, isInterrupted, durationMs } = said;
  const turnId = state.turn?.turnId ?? turnIdOf(launch, line.byte);
  const messageId = `m${state.generation}-${line.byte}`;
  const stopReason = isInterrupted ? "cancelled" : problem === undefined ? "end_turn" : "error";
  return {
    state: { ...state, isBusy: false, turn: null },
    events: [
      ...(text === "" ? [] : [{ type: "agent_message" as const, messageId, at: messageId, text }]),
      {
        type: "turn_end",
        turnId,
        stopReason,
        durationMs,
        ...(stopReason === "error" && problem !== undefined && { error: problem }),
      },
      { type: "delivery_update", deliveryId, status: "completed" },
    ],
  };
}
