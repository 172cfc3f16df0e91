/** What the model has heard and said, in its order, as transcripts tell: a message stands where it was read. Pure. */
import type { EventOf, ThreadEvent } from "../../shared/agent/events.ts";
import type { Block } from "../../shared/agent/values.ts";
import { tagOf } from "../content.ts";

export interface Said {
  line: string;
  /** The id of a person's message. */
  messageId?: string;
  deliveryId?: string;
  /** It is a summary of all that came before it. */
  isSummary?: true;
}

/**
 * @param events of a transcript; of a branch, its `origin.jsonl` first. Messages that were not read are left out.
 */
export function conversationOf(events: Iterable<ThreadEvent>): Said[] {
  const conversation = new Conversation();
  for (const event of events) conversation.take(event);
  return conversation.said;
}

interface Heard {
  content: Block[];
  /** Empty if a person wrote it. */
  tag: string;
}

class Conversation {
  said: Said[] = [];
  readonly #waiting = new Map<string, Heard>();
  readonly #deliveries = new Map<string, readonly string[]>();

  take(event: ThreadEvent): void {
    switch (event.type) {
      case "thread_start":
        this.#begin(event.origin?.messageId);
        return;
      case "initial_message":
        this.said.push({ line: initialLine(event) });
        return;
      case "user_message":
        this.#waiting.set(event.messageId, {
          content: event.content,
          tag: tagOf({ ...event, at: event.ts }),
        });
        return;
      case "message_edit": {
        const message = this.#waiting.get(event.messageId);
        if (event.applied && message) message.content = event.content;
        return;
      }
      case "message_withdraw":
        if (event.applied) this.#waiting.delete(event.messageId);
        return;
      case "delivery":
        this.#deliveries.set(event.deliveryId, event.messageIds);
        return;
      case "delivery_update":
        this.#takeDelivery(event);
        return;
      case "agent_message":
        if (event.parentToolCallId === undefined) this.said.push({ line: `You: ${event.text}` });
        return;
      case "tool_call":
        if (event.parentToolCallId === undefined) this.said.push({ line: `You called: ${event.title}` });
        return;
      case "compaction_update":
        if (event.summary !== undefined)
          this.said.push({ line: `Summary of what came before: ${event.summary}`, isSummary: true });
        return;
      default:
        return;
    }
  }

  /** @param lastMessageId where a branch left its origin, if that was a person's message. */
  #begin(lastMessageId: string | undefined): void {
    const at = this.said.findIndex(
      ({ messageId }) => lastMessageId !== undefined && messageId === lastMessageId,
    );
    if (at >= 0) this.said.length = at + 1;
    this.#waiting.clear();
    this.#deliveries.clear();
  }

  #takeDelivery({ deliveryId, status }: Extract<ThreadEvent, { type: "delivery_update" }>): void {
    if (status === "queued") this.said = this.said.filter((said) => said.deliveryId !== deliveryId);
    if (status !== "started") return;
    for (const messageId of this.#deliveries.get(deliveryId) ?? []) {
      const message = this.#waiting.get(messageId);
      if (message) this.said.push({ line: lineOf(message), messageId, deliveryId });
    }
  }
}

function initialLine({ role, text }: EventOf<"initial_message">): string {
  const speaker = role === "assistant" ? "You" : "Person";
  return `${speaker}, before this thread: ${indented(text)}`;
}

/** What does not come from a person says where from, as when it was delivered. */
function lineOf({ content, tag }: Heard): string {
  const text = textOf(content);
  return tag === "" ? `Person: ${text}` : tag + indented(text);
}

/** Whatever it holds, none of its lines can pass for what somebody else has said. */
function indented(text: string): string {
  return text.replace(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/g, "\n  ");
}

function textOf(content: readonly Block[]): string {
  return content.map((block) => (block.type === "text" ? block.text : `[${block.uri}]`)).join("\n");
}
