/** The lines between the runner and the program of this engine: events of the transcript, and what is sent to it. */
import * as z from "zod";
import { threadConfigSchema } from "../../../shared/agent/config.ts";
import { opFields } from "../../../shared/agent/ops.ts";
import { providerFileSchema } from "../../../shared/agent/provider-files.ts";
import { TOOL_KINDS } from "../../../shared/agent/values.ts";
import { sourceSchema } from "../../../shared/principal.ts";

const str = z.string();
const int = z.number().int();

export const partSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: str }),
  /** `uri`: a path inside the thread's folder. */
  z.object({ type: z.literal("image"), mimeType: str, uri: str }),
]);
export type Part = z.infer<typeof partSchema>;

const order = { seq: int, by: sourceSchema };
/** An op of a person's that the runner passes on. */
const orderedSchema = z.discriminatedUnion("op", [
  z.object({ op: z.literal("interrupt"), ...order, ...opFields.interrupt() }),
  z.object({ op: z.literal("mode"), ...order, ...opFields.mode() }),
  z.object({ op: z.literal("model"), ...order, ...opFields.model() }),
  z.object({ op: z.literal("compact"), ...order, ...opFields.compact() }),
  z.object({ op: z.literal("end_task"), ...order, ...opFields.end_task() }),
]);
export type Ordered = z.infer<typeof orderedSchema>;

/** Names an op, and the mode that it chooses: a program that takes another one says another name. */
export function nameOfOrdered(ordered: Ordered): string {
  const name = `${ordered.op}-${ordered.seq}`;
  return ordered.op === "mode" ? `${name}-${ordered.modeId}` : name;
}

/** How a request is answered: the call goes on, or it does not and the model is told why. */
export const verdictSchema = z.object({
  requestId: str,
  goesOn: z.boolean(),
  /** For the model: why not; the answers to its questions; after a round of calls, what is new. */
  text: str.optional(),
  /** A person's choice. */
  optionId: str.optional(),
});
export type Verdict = z.infer<typeof verdictSchema>;

/** In a file of the thread's folder: what the program is started for. It holds no secret. */
export const startSchema = z.object({
  config: threadConfigSchema,
  generation: int,
  number: int.optional(),
  sessionId: str,
  resumed: z.boolean(),
  reseeded: z.boolean(),
  takesUp: z.boolean(),
  modeId: str,
  model: str.optional(),
  rules: z.array(str),
  /** The directory's instructions; empty if it has none, or nobody trusts them. */
  instructions: str,
  /** A person's own providers. */
  providers: z.array(providerFileSchema).default([]),
});
export type Start = z.infer<typeof startSchema>;

/** From the runner. */
export const toOwn = z.union([
  z.object({ op: z.literal("open") }),
  z.object({ op: z.literal("deliver"), deliveryId: str, parts: z.array(partSchema) }),
  z.object({ op: z.literal("answer"), verdict: verdictSchema }),
  z.object({ op: z.literal("control"), control: orderedSchema }),
  /** From here on these are asked about, whatever was granted. */
  z.object({ op: z.literal("rules"), seq: int, ask: z.array(str) }),
  z.object({ op: z.literal("cost"), id: str }),
  z.object({ op: z.literal("end") }),
]);
export type ToOwn = z.infer<typeof toOwn>;

const requestSchema = z.object({
  requestId: str,
  kind: z.enum(["ask", "hook"]),
  toolCallId: str,
  isAfterCalls: z.boolean().optional(),
  isBeforeEnd: z.boolean().optional(),
  /** The call that waits, whole. If one call makes several requests, the first alone holds it. */
  what: z.object({ name: str, input: z.unknown(), paths: z.array(str).optional() }).optional(),
  call: z
    .object({ side: z.enum(["before", "after", "ask"]), kind: z.enum(TOOL_KINDS), path: str.optional() })
    .optional(),
});
export type Request = z.infer<typeof requestSchema>;

/** To the runner: what happened at one moment, in one line. A line that was cut off by a death says nothing. */
export const fromOwn = z.object({
  /** Events of the transcript, in their order. */
  events: z.array(z.looseObject({ type: str })).default([]),
  /** That the events name: the runner keeps them. */
  pictures: z.array(z.object({ uri: str, base64: str })).optional(),
  isOpen: z.literal(true).optional(),
  isBusy: z.boolean().optional(),
  /** There was no turn to take up. */
  takesUpNothing: z.literal(true).optional(),
  /** A delivery that it holds now. */
  received: str.optional(),
  requests: z.array(requestSchema).optional(),
  /** Requests that are over, with the answer that it had; without one if the call was given up. */
  closed: z.array(z.object({ requestId: str, verdict: verdictSchema.optional() })).optional(),
  /** The op that it has done, by its name. */
  did: str.optional(),
  costFor: str.optional(),
  live: z
    .object({
      text: z.object({ messageId: str, text: str, thought: z.boolean() }).optional(),
      retry: z.object({ attempt: int, error: str }).optional(),
    })
    .optional(),
});
export type FromOwn = z.input<typeof fromOwn>;
