/** What the environment makes of the stand-in, and what its model answers. */
import { appendFileSync } from "node:fs";
import { nextRound, parseScripts, type Round, type Spoken } from "./script.ts";
import { tour, tourIsOver } from "./tour.ts";

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
  /** Each request to the model is written to the end of this file: what people said, in order, a JSON list a line. */
  requestLog: string | undefined;
}

/** Longer texts are cut in the log. */
const LOGGED_LENGTH = 200;

/** The model's answer to this conversation. */
export function answerTo(
  conversation: readonly Spoken[],
  { callsAgain, opening, requestLog }: Behaviour,
): Round {
  if (requestLog !== undefined) {
    const said = conversation.filter(({ role }) => role === "user");
    const texts = said.map(({ text }) => text.slice(0, LOGGED_LENGTH));
    appendFileSync(requestLog, `${JSON.stringify(texts)}\n`);
  }
  const isScript = ({ role, text }: Spoken) => role === "user" && parseScripts(text).length > 0;
  try {
    const first = opening ?? (conversation.some(isScript) ? [] : tour);
    return nextRound(conversation, { callsAgain, opening: first }) ?? tourIsOver;
  } catch (error) {
    return { text: `The demo can't follow this conversation: ${String(error)}` };
  }
}
