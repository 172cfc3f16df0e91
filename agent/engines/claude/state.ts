/** What the translation of claude's output remembers from line to line: plain JSON of bounded size. */

import type { EventBody } from "../../../shared/agent/events.ts";
import type { Usage } from "../../../shared/agent/values.ts";
import type { EngineState, Launch, TranslateContext } from "../../engine.ts";

export interface ClaudeState extends EngineState {
  sessionId: string;
  /** The newest ping that it has replied to. */
  pong?: string;
  /** Its first line that names version, model and mode has come. */
  isStarted: boolean;
  isResumed: boolean;
  /** It takes up a cut-off turn: the first turn goes on with that. */
  takesUp: boolean;
  /** The message or cut-off turn that it has said to begin with, until the turn has begun. */
  beginsWith: string | null;
  turn: { turnId: string; startedMs: number } | null;
  /** Deliveries that are in the conversation, and no result since. */
  taken: string[];
  /** The call of the model that runs. */
  chat: { stepId: string; startedMs: number; ttftMs?: number; usage?: Usage; model?: string } | null;
  /** Tool calls without a result. */
  tools: Record<string, { name: string; startedMs: number; plan?: string; cwd?: string }>;
  compacting: { stepId: string; startedMs: number } | null;
  model: string;
  modeId: string;
  /** The context's size, of the last call. */
  usedTokens: number;
  /** The conversation's cost when the turn began: what it prints goes on over turns, and over orderly ends. */
  costUsd: number;
  /** The provider refuses calls until then, in seconds since the epoch, as the newest call was told. */
  resetsAt: number | null;
}

export function beginClaude(launch: Launch): ClaudeState {
  return {
    generation: launch.generation,
    isOpen: false,
    requests: {},
    received: [],
    isBusy: false,
    live: {},
    sessionId: launch.sessionId,
    isStarted: false,
    isResumed: launch.resumed,
    takesUp: launch.takesUp,
    beginsWith: null,
    turn: null,
    taken: launch.taken,
    chat: null,
    tools: {},
    compacting: null,
    model: "",
    modeId: "",
    usedTokens: 0,
    costUsd: launch.costUsd ?? 0,
    resetsAt: null,
  };
}

/** Stands for a turn that it takes up, before it has said which. */
const CUT_OFF_TURN = "cut-off turn";

/**
 * Takes its word for whether it takes a cut-off turn up. It tells its state in the reply to our first request, and when
 * the state changes. The state is "running" from the start, also of a conversation of 31 MB, though the turn begins only
 * when the tools of the person's servers are there, which took 13 s of a server of 10 s (seen of 2.1.330).
 */
export function hearState(state: ClaudeState, told: string | undefined): ClaudeState {
  if (told === undefined || !state.takesUp) return state;
  if (told === "idle") return { ...state, beginsWith: null, takesUpNothing: true };
  return { ...state, beginsWith: state.beginsWith ?? CUT_OFF_TURN };
}

/** What the turn has cost. Told as a sum over the conversation; it starts again at 0 if the sum was lost. */
export function costSince({ costUsd }: ClaudeState, total: number): number {
  return Math.max(0, total >= costUsd ? total - costUsd : total);
}

/** What a process says of itself first. */
export interface Introduction {
  version: string;
  model: string;
  modeId: string;
  capabilities: string[];
}

/** The process is up; a resumed turn begins before it has answered our first request. */
export function startEngine(
  state: ClaudeState,
  { version, model, modeId, capabilities }: Introduction,
  { config, launch }: TranslateContext,
): { state: ClaudeState; events: EventBody[] } {
  return {
    state: { ...state, isStarted: true, model, modeId },
    events: [
      {
        type: "engine_start",
        generation: state.generation,
        engine: config.agent.engine,
        version,
        sessionId: state.sessionId,
        model,
        modeId,
        resumed: state.isResumed,
        ...(launch.reseeded && { reseeded: true }),
        capabilities,
      },
    ],
  };
}
