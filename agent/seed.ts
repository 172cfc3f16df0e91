/**
 * What a new conversation is told of an old one, if the engine can't go on with it: the transcript is the truth.
 * Pure.
 */
import type { ThreadEvent } from "../shared/agent/events.ts";
import { conversationOf } from "./core/conversation.ts";

const MAX_CHARACTERS = 60_000;
const HEADS = {
  /** It was this thread's. */
  lost: "This conversation was begun before and is gone from your memory. What was said, as the transcript has it:\n\n",
  /** It is another thread's, up to where this one begins. */
  origin:
    "You go on from a conversation that was begun in another thread. What was said there, as its transcript has it:\n\n",
  /** It was held elsewhere, and handed over when the thread was made. */
  initial:
    "You go on from a conversation that was held before this thread began, in another place. What was said there, as whoever began this thread has handed it over:\n\n",
};
const TAIL = "\n\nGo on from there. Files may have changed since; look before you rely on them.";

/** The end of the conversation in its speakers' words, with what was run; empty if nothing was said. */
export function seedText(events: Iterable<ThreadEvent>, why: keyof typeof HEADS): string {
  const lines = conversationOf(events).map(({ line }) => line);
  if (lines.length === 0) return "";
  // What a thread begins with was bounded when it was made: it is told whole.
  const max = why === "initial" ? Number.POSITIVE_INFINITY : MAX_CHARACTERS;
  let text = "";
  for (const line of lines.reverse()) {
    if (text.length + line.length > max) {
      text = `(older parts are left out)\n${text}`;
      break;
    }
    text = `${line}\n${text}`;
  }
  return HEADS[why] + text.trimEnd() + TAIL;
}
