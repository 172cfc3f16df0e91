import type { Round } from "./script.ts";

/** What the environment says. */
export interface Behaviour {
  /** A cut-off turn goes on by itself. */
  resumesTurn: boolean;
  /** It goes on with the unfinished calls in it. */
  showsCutOffCalls: boolean;
  /** What the model is told then. */
  resumePrompt: string | undefined;
  /** What the model says before any script of a message; the tour, if undefined. */
  opening: Round[] | undefined;
  callsAgain: boolean;
  /** A cut-off turn that it has said to take up waits so long before it does anything. */
  takeUpMs: number;
  /** An edit of a file takes so long between its reading and its writing. */
  writeMs: number;
}
