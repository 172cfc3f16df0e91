/** What the translation of claude's output remembers from line to line: plain JSON of bounded size. */

import type { Usage } from "../../../shared/agent/values.ts";
import type { EngineState, Launch } from "../../engine.ts";

export interface ClaudeState extends EngineState {
  sessionId: string;
  isResumed: boolean;
  /** It takes up a cut-off turn: the first turn goes on with that. */
  takesUp: boolean;
  turn: { turnId: string; startedMs: number } | null;
  /** Deliveries whose echo has come, and no result since. */
  taken: string[];
  /** The call of the model that runs. */
  chat: { stepId: string; startedMs: number; ttftMs?: number; usage?: Usage; model?: string } | null;
  /** Tool calls without a result. */
  tools: Record<string, { name: string; startedMs: number; plan?: string }>;
  compacting: { stepId: string; startedMs: number } | null;
  model: string;
  modeId: string;
  /** The context's size, of the last call. */
  usedTokens: number;
  /** The conversation's cost when the turn began: what it prints goes on over turns. */
  costUsd: number | null;
}

export function beginClaude(launch: Launch): ClaudeState {
  return {
    generation: launch.generation,
    isOpen: false,
    requests: {},
    isBusy: false,
    live: {},
    sessionId: launch.sessionId,
    isResumed: launch.resumed,
    takesUp: launch.takesUp,
    turn: null,
    taken: [],
    chat: null,
    tools: {},
    compacting: null,
    model: "",
    modeId: "",
    usedTokens: 0,
    costUsd: null,
  };
}
