/** What a new conversation is told of the old one, when the engine has lost it: the transcript is the truth. Pure. */
import type { ThreadEvent } from "../shared/agent/events.ts";

const MAX_CHARACTERS = 60_000;
const HEAD =
  "This conversation was begun before and is gone from your memory. What was said, as the transcript has it:\n\n";
const TAIL = "\n\nGo on from there. Files may have changed since; look before you rely on them.";

/** The end of the conversation in its speakers' words, with what was run; empty if nothing was said. */
export function seedText(events: Iterable<ThreadEvent>): string {
  const lines: string[] = [];
  for (const event of events) {
    const line = lineOf(event);
    if (line) lines.push(line);
  }
  if (lines.length === 0) return "";
  let text = "";
  for (const line of lines.reverse()) {
    if (text.length + line.length > MAX_CHARACTERS) {
      text = `(older parts are left out)\n${text}`;
      break;
    }
    text = `${line}\n${text}`;
  }
  return HEAD + text.trimEnd() + TAIL;
}

function lineOf(event: ThreadEvent): string | undefined {
  switch (event.type) {
    case "user_message":
      return `Person: ${event.content.map((block) => (block.type === "text" ? block.text : `[${block.uri}]`)).join("\n")}`;
    case "agent_message":
      return `You: ${event.text}`;
    case "tool_call":
      return `You called: ${event.title}`;
    case "compaction_update":
      return event.summary === undefined ? undefined : `Summary of what came before: ${event.summary}`;
    default:
      return undefined;
  }
}
