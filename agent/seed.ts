/**
 * Tells a new conversation of an old one with which the engine can't, or shall not, go on: the transcript is the truth.
 * Pure.
 */
import type { ThreadEvent } from "../shared/agent/events.ts";
import { conversationOf, type Said } from "./core/conversation.ts";

const MAX_CHARACTERS = 60_000;
const MAX_SUMMARY_CHARACTERS = 20_000;
const HEADS = {
  /** It was this thread's. */
  lost: "This conversation was begun before and is gone from your memory. What was said, as the transcript has it:\n\n",
  outgrown:
    "This conversation of yours had become very long, so it begins anew. What was said, as the transcript has it:\n\n",
  handed_over:
    "You have been handed over to another directory, and go on there. What was said before, as the transcript has it:\n\n",
  /** It is another thread's, up to where this one begins. */
  origin:
    "You go on from a conversation that was begun in another thread. What was said there, as its transcript has it:\n\n",
  /** It was held elsewhere, and handed over when the thread was made. */
  initial:
    "You go on from a conversation that was held before this thread began, in another place. What was said there, as whoever began this thread has handed it over:\n\n",
};
const TAIL = "\n\nGo on from there. Files may have changed since; look before you rely on them.";

/**
 * The end of the conversation in its speakers' words, with what was run, and before it the newest summary of the rest;
 * empty if nothing was said.
 */
export function seedText(
  events: Iterable<ThreadEvent>,
  why: keyof typeof HEADS,
  moved?: { from: string; to: string },
): string {
  const said = conversationOf(events);
  if (said.length === 0) return "";
  // What a thread begins with was bounded when it was made: it is told whole.
  const text = why === "initial" ? linesOf(said).join("\n") : newestOf(said);
  const places = moved ? `You work in ${moved.to} now; before, you worked in ${moved.from}. ` : "";
  return places + HEADS[why] + text.trimEnd() + TAIL;
}

function newestOf(said: readonly Said[]): string {
  let room = MAX_CHARACTERS;
  let from = said.length;
  for (; from > 0; from--) {
    room -= said[from - 1]?.line.length ?? 0;
    if (room < 0) break;
  }
  const told = linesOf(said.slice(from)).join("\n");
  if (from === 0) return told;
  const summary = said.slice(0, from).findLast(({ isSummary }) => isSummary)?.line;
  const isTold = said.slice(from).some(({ isSummary }) => isSummary);
  const head = summary === undefined || isTold ? "" : `${summary.slice(0, MAX_SUMMARY_CHARACTERS)}\n`;
  return `${head}(older parts are left out)\n${told}`;
}

function linesOf(said: readonly Said[]): string[] {
  return said.map(({ line }) => line);
}
