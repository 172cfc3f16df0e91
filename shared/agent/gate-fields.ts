/** The fields of the events that ask whoever decides at a gate, and of those that tell the decision. */
import * as z from "zod";
import { sourceSchema } from "../principal.ts";
import { GATE_OUTCOMES, GATE_POINTS } from "./gates.ts";

const str = z.string();

export const DECIDERS = ["person", "command", "directive"] as const;

/** The gate that decides, and the call that it decides about: a decision about another call counts for nothing. */
const asked = () => ({
  requestId: str,
  /** A hash of the call's tool and input, or of the turn or limit that is decided on. */
  callKey: str,
});

export const gateRequestFields = () => ({
  ...asked(),
  /** Which of the thread's gates, from 0. */
  gate: z.number().int().nonnegative(),
  at: z.enum(GATE_POINTS),
  by: z.enum(DECIDERS),
  /** The call, or the engine's request, that waits. */
  waits: str,
  /** In a line, for people. */
  title: str,
  toolName: str,
  /** As JSON, at most 2,000 characters. */
  input: str,
  /** From 1: asked again after a time-out. */
  attempt: z.number().int().positive(),
  /** The number of calls that had ended by then. */
  steps: z.number().int().nonnegative(),
  /** The request that this one stands for; what was decided on that one is decided on this one. */
  replaces: str.optional(),
});

export const gateResponseFields = () => ({
  ...asked(),
  /** `withdrawn`: nobody waits for a decision any more. */
  outcome: z.enum([...GATE_OUTCOMES, "withdrawn"]),
  /** Why, in the decider's words. */
  text: str.optional(),
  by: sourceSchema.optional(),
});
