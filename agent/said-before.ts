/** What an engine has said of each call and ask: it says it once. Something that it runs can write into its output too. */
import { createHash } from "node:crypto";
import type { EventBody } from "../shared/agent/events.ts";

/** Of one process of an engine, so that a line is judged the same whenever its output is read. */
const MAX_KEPT = 4_096;

export class SaidBefore {
  readonly #hashes = new Map<string, string>();

  /** Whether one of them says of a call that has not ended, or of an ask, anything but what was said of it before. */
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

/** What people decide by. */
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
