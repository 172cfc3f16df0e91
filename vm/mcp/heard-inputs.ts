/** The inputs of an agent that hears channels, as its transcript has them: to be read again, or answered one by one. */
import * as z from "zod";
import type { EventOf } from "../../shared/agent/events.ts";
import { findEvent } from "../../shared/agent/find-event.ts";
import { timeOf } from "../../shared/clock-text.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { linesOf } from "../../shared/outside-text.ts";
import type { Agents } from "../agents/agents.ts";
import type { Tool } from "./tool.ts";

/** How far back in the transcript inputs are looked for, in bytes. */
const READ_BYTES = 1024 * 1024;
const MAX_CHARACTERS = 20_000;
const MAX_LAST = 100;

export interface HeardInput {
  messageId: string;
  /** The address of whoever wrote it, as the input's tag has it. */
  handle: string;
  /** An instant in ISO 8601. */
  at: string;
  text: string;
}

/**
 * Lists the newest inputs, the oldest of them first. An edited one is as it stands now; a withdrawn one is left out.
 * @throws AppError `not_found`
 */
export async function inputsOf(
  agents: Pick<Agents, "readTranscript">,
  threadId: ThreadId,
): Promise<HeardInput[]> {
  const { end } = await agents.readTranscript(threadId, { since: 0, limit: 1 });
  const since = Math.max(0, end - READ_BYTES);
  const { lines } = await agents.readTranscript(threadId, { since, limit: READ_BYTES });
  const found = new Map<string, HeardInput>();
  // The first line may be a line's rest.
  for (const line of lines.split("\n").slice(since > 0 ? 1 : 0)) {
    const event = findEvent(line);
    if (event?.type === "user_message" && event.handle !== undefined) {
      const { messageId, handle, ts: at, content } = event;
      found.set(messageId, { messageId, handle, at, text: textOf(content) });
    }
    if (event?.type === "message_withdraw" && event.applied) found.delete(event.messageId);
    const edited = event?.type === "message_edit" && event.applied ? found.get(event.messageId) : undefined;
    if (edited && event?.type === "message_edit") edited.text = textOf(event.content);
  }
  return [...found.values()];
}

function textOf(content: EventOf<"user_message">["content"]): string {
  return content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
}

const inputSchema = z.strictObject({
  from: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("An address: that person, or all who wrote in that channel; without it everybody"),
  last: z.int().min(1).max(MAX_LAST).default(20).describe("So many, the newest"),
});

export interface ReadInputsOptions {
  agents: Pick<Agents, "readTranscript">;
  isFor: NonNullable<Tool["isFor"]>;
}

export function readInputsTool({ agents, isFor }: ReadInputsOptions): Tool {
  return {
    name: "read_inputs",
    // It reads again what this agent was told itself.
    right: "none",
    isFor,
    description:
      "Your newest inputs once more, each with its address and time: what people, jobs and other agents wrote to you. Their lines stand behind >.",
    inputSchema,
    run: async ({ threadId, input }) => {
      const { from, last } = inputSchema.parse(input);
      const isMeant = ({ handle }: HeardInput) =>
        from === undefined || handle === from || handle.startsWith(`${from}/`);
      const meant = (await inputsOf(agents, threadId)).filter(isMeant).slice(-last);
      if (meant.length === 0) return from === undefined ? "No input yet." : `No input from ${from}.`;
      const whole = meant.map(written).join("\n");
      const left = whole.length - MAX_CHARACTERS;
      return left > 0 ? `(${left} characters before this are left out.)\n${whole.slice(left)}` : whole;
    },
  };
}

/** No line of anybody's text can be taken for an input's beginning: each stands behind a sign. */
function written({ handle, at, text }: HeardInput): string {
  const lines = linesOf(text).map((line) => `> ${line}`);
  return [`[${handle} ${timeOf(at)}]`, ...lines].join("\n");
}
