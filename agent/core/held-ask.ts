/** The questions about what waits for a person beside the work: another agent's message, a write to memory. Pure. */
import type { EventBody } from "../../shared/agent/events.ts";
import { LET_IN_OPTION } from "../../shared/agent/fold-held.ts";
import { MAX_HOPS } from "../../shared/agent/message-fields.ts";

const WHY = {
  hops: `agents have written to each other ${MAX_HOPS} times without a person`,
  rights: "that thread may do less than this one",
};

/** These come after the event that they are about. */
export function askedBy(event: EventBody): EventBody[] {
  if (event.type === "memory_write") return askedByWrite(event);
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

const HOW = { append: "Add to", replace: "Write", remove: "Remove" };

function askedByWrite({ writeId, path, how, text, state }: EventBody<"memory_write">): EventBody[] {
  if (state !== "waiting") return [];
  return [
    {
      type: "permission_request",
      requestId: `memory-${writeId}`,
      toolCallId: "",
      toolName: "Memory",
      callKey: `memory ${writeId}`,
      input: JSON.stringify({ content: text }),
      options: [
        { optionId: LET_IN_OPTION, name: "Let it in", kind: "allow_once" },
        { optionId: "drop", name: "Drop it", kind: "reject_once" },
      ],
      title: `${HOW[how]} ${path} in memory`,
      reason: "every agent that has this memory is told it from then on",
      memoryWriteId: writeId,
    },
  ];
}
