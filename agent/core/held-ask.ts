/** The question about another agent's message that waits for a person. Pure. */
import type { EventBody } from "../../shared/agent/events.ts";
import { LET_IN_OPTION } from "../../shared/agent/fold-held.ts";
import { MAX_HOPS } from "../../shared/agent/message-fields.ts";

const WHY = {
  hops: `agents have written to each other ${MAX_HOPS} times without a person`,
  rights: "that thread may do less than this one",
};

/** These come after the message's own event. */
export function askedBy(event: EventBody): EventBody[] {
  if (event.type !== "user_message" || event.held === undefined) return [];
  const { messageId, source, fromNumber, content, held } = event;
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const from = fromNumber === undefined ? source : `#${fromNumber}`;
  return [
    {
      type: "permission_request",
      requestId: `held-${messageId}`,
      toolCallId: "",
      toolName: "Message",
      callKey: `message ${messageId}`,
      input: JSON.stringify({ content: text }),
      options: [
        { optionId: LET_IN_OPTION, name: "Let it in", kind: "allow_once" },
        { optionId: "drop", name: "Drop it", kind: "reject_always" },
      ],
      title: `Read a message of ${from}`,
      reason: WHY[held],
      heldMessageId: messageId,
    },
  ];
}
