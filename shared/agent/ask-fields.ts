/** The fields of the events that ask a person something, and of those that answer. */
import * as z from "zod";
import { sourceSchema } from "../principal.ts";
import { GATE_POINTS } from "./gates.ts";
import { askedLimitSchema } from "./limit-schema.ts";
import { optionSchema, questionSchema } from "./values.ts";

/** Why an ask was closed without an answer of a person. */
export const ASK_END_REASONS = ["withdrawn", "turn_ended", "timeout", "killed", "replaced"] as const;

const str = z.string();

export const permissionRequestFields = () => ({
  requestId: str,
  toolCallId: str,
  toolName: str,
  /** The key of the tool's name and input. If the call is asked again after a restart, it has the same key. */
  callKey: str,
  /** The call's input as JSON, at most 2,000 characters; the whole of it is in the `tool_call`. */
  input: str,
  options: z.array(optionSchema),
  title: str,
  /** What the call is for, in the model's words. */
  description: str.optional(),
  /** Why the engine asks, if it says so: such as a path outside of the directory. */
  reason: str.optional(),
  agentId: str.optional(),
  /** The parked request that this one stands for: an answer to either counts, once. */
  replaces: str.optional(),
  /** A plan to approve (ExitPlanMode), in Markdown. */
  plan: str.optional(),
  /** The runner asks, before an engine starts: may it load what the directory brings? `callKey` names that. */
  trust: z.literal(true).optional(),
  /** The runner asks: this limit is reached, may the thread go on with as much again? Or when, at the provider's. */
  limit: askedLimitSchema.optional(),
  /** The runner asks: may this message of another agent come in? The thread's own work does not wait for it. */
  heldMessageId: str.optional(),
  /** The runner asks: may this write to memory count? The thread's own work does not wait for it. */
  memoryWriteId: str.optional(),
  /** A gate of the thread asks at this point. The options' ids are the outcomes. */
  gate: z.enum(GATE_POINTS).optional(),
});

export const permissionResponseFields = () => ({
  requestId: str,
  outcome: z.enum(["selected", "cancelled"]),
  optionId: str.optional(),
  by: sourceSchema.optional(),
  message: str.optional(),
  reason: z.enum(ASK_END_REASONS).optional(),
  /** The decision was made on this ask, which had been put aside: it counts for one call. */
  decidedOn: str.optional(),
});

/** Fields of an ask that does not hold up the agent: its engine is told that the call did not run. */
export const askAsideFields = () => ({
  requestId: str,
  /** The same call again has the same key. */
  key: str,
  /** The state of the files that the call writes. */
  files: str,
  /** The open ask about the same call that this one takes the place of. */
  sameAs: str.optional(),
});

export const elicitationRequestFields = () => ({
  requestId: str,
  toolCallId: str,
  callKey: str,
  input: str,
  message: str,
  questions: z.array(questionSchema),
  replaces: str.optional(),
});

export const elicitationResponseFields = () => ({
  requestId: str,
  action: z.enum(["accept", "decline", "cancel"]),
  content: z.record(str, str).optional(),
  by: sourceSchema.optional(),
  reason: z.enum(ASK_END_REASONS).optional(),
});
