/** What an agent's work came to: its last words, and how its last turn ended. Pure. */
import type { EventOf, ThreadEvent } from "../../shared/agent/events.ts";

export class TurnOutcome {
  #words: string[] = [];
  #end: EventOf<"turn_end"> | undefined;

  add(event: ThreadEvent): void {
    switch (event.type) {
      case "turn_start":
        this.#words = [];
        this.#end = undefined;
        return;
      case "tool_call":
        if (event.parentToolCallId === undefined) this.#words = [];
        return;
      case "agent_message":
        if (event.parentToolCallId === undefined) this.#words.push(event.text);
        return;
      case "turn_end":
        this.#end = event;
        return;
      default:
        return;
    }
  }

  /** What it said after its last call of a tool. */
  get answer(): string {
    return this.#words.join("\n\n");
  }

  /** Undefined while a turn runs, and before the first. */
  get end(): EventOf<"turn_end"> | undefined {
    return this.#end;
  }
}
