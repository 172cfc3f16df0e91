/**
 * Remembers how an engine described each call and ask. A second, different description is forged: a process that the
 * engine runs can write into its output too.
 */
import { createHash } from "node:crypto";
import type { EventBody } from "../shared/agent/events.ts";

/** Most calls and asks of one engine process that are remembered; the oldest is forgotten first. */
const MAX_KEPT = 4_096;

export class SaidBefore {
  readonly #hashes = new Map<string, string>();

  /** Tells whether an event describes an ask, or a call that has not ended, otherwise than an earlier event did. */
  isOther(events: readonly EventBody[]): boolean {
    return events.some((event) => {
      // Some models give the next call the id of one that has ended.
      if (event.type === "tool_call_update" && event.status !== "in_progress")
        this.#hashes.delete(`call ${event.toolCallId}`);
      const what = whatIsAsked(event);
      return what !== undefined && !this.#isSame(what.id, what.said);
    });
  }

  #isSame(id: string, said: unknown): boolean {
    const hash = createHash("sha256")
      .update(JSON.stringify(said) ?? "")
      .digest("base64url");
    const before = this.#hashes.get(id);
    if (before !== undefined) return before === hash;
    const [oldest] = this.#hashes.keys();
    if (this.#hashes.size >= MAX_KEPT && oldest !== undefined) this.#hashes.delete(oldest);
    this.#hashes.set(id, hash);
    return true;
  }
}

/** Gives the part of an event by which people decide, with the id of its call or ask. */
function whatIsAsked(event: EventBody): { id: string; said: unknown } | undefined {
  switch (event.type) {
    case "tool_call":
      return { id: `call ${event.toolCallId}`, said: [event.name, event.rawInput] };
    case "permission_request":
      return {
        id: `ask ${event.requestId}`,
        said: [event.toolCallId, event.toolName, event.title, event.input],
      };
    case "elicitation_request":
      return { id: `ask ${event.requestId}`, said: [event.toolCallId, event.questions] };
    default:
      return undefined;
  }
}
