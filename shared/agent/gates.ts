/**
 * Gates: points of an agent's work at which somebody decides whether it goes on. A gate can only narrow what mode, rules
 * and limits allow.
 */
import * as z from "zod";
import { LIMIT_NAMES } from "./limit-schema.ts";

export const GATE_POINTS = ["before_step", "after_step", "after_complete", "on_error", "on_limit"] as const;
export type GatePoint = (typeof GATE_POINTS)[number];

/** `continue`: as if there were no gate. `retry`: once more with the text. `fail`: it has failed with the text. */
export const GATE_OUTCOMES = ["continue", "retry", "fail", "abort"] as const;
export type GateOutcome = (typeof GATE_OUTCOMES)[number];

export const MAX_GATES = 20;
/** In one turn: the next is a `fail`. */
export const MAX_RETRIES = 3;
/** The longest that a command or a directive may take to decide, and the most that a directive may cost. */
export const DECIDER_SECONDS = 120;
export const DECIDER_USD = 0.5;
/** Asked so often; then it has failed. */
export const MAX_ASKED = 2;

const oneOf = <const T extends readonly [string, ...string[]]>(names: T) =>
  z.enum(names, `must be one of ${names.join(", ")}`);
const line = (max: number) =>
  z
    .string("must be text")
    .max(max, `must be at most ${max} characters`)
    .refine((text) => text.trim() !== "", "must not be empty")
    .refine((text) => !text.includes("\0"), "must hold no NUL character");
const count = (max: number) =>
  z.int("must be a whole number").min(1, "must be at least 1").max(max, `must be at most ${max}`);

const fitSchema = z.strictObject(
  {
    /** A glob of the tool's name, as the engine calls it. */
    tool: line(200).optional(),
    /** A glob of a command, or of a part of it between `;`, `&`, `|` and the like. */
    command: line(500).optional(),
    /** A glob of a file that the call names, from the agent's directory on, or absolute. */
    path: line(500).optional(),
    /** Every so many calls that have ended. */
    every: count(1_000).optional(),
    /** A tool failed so often in a row. Without it: the turn failed. */
    failures: count(100).optional(),
    limit: oneOf([...LIMIT_NAMES, "dayUsd"]).optional(),
  },
  notFields("must be a block of fields"),
);

const WRONG_DECIDER = "must be person, command: LINE or directive: NAME";
const commandSchema = line(10_000);
const nameSchema = z.string(WRONG_DECIDER).regex(/^[a-z0-9:-]{1,80}$/, "names no directive");
const deciderSchema = z.union(
  [
    z.literal("person"),
    z.string().regex(/^command: *\S/),
    z.string().regex(/^directive: *[a-z0-9:-]{1,80}$/),
    z.strictObject({ command: commandSchema }),
    z.strictObject({ directive: nameSchema }),
  ],
  WRONG_DECIDER,
);

const gateFields = z.strictObject(
  {
    at: oneOf(GATE_POINTS),
    /** The conditions, all of which a call must meet. Without them the gate is for everything that comes to this point. */
    if: fitSchema.optional(),
    by: deciderSchema,
    /** For whoever decides. */
    prompt: line(2_000).optional(),
    /** Then it is asked again, and then it has failed. */
    timeoutSeconds: count(30 * 86_400).optional(),
    /** The outcome of a no. */
    // biome-ignore lint/suspicious/noThenProperty: it is a word of the file's, and no function
    then: oneOf(["retry", "fail", "abort"]).optional(),
  },
  notFields("must be a block of fields"),
);

export const gateSchema = gateFields.superRefine(refuse);
export type Gate = z.infer<typeof gateSchema>;

export const gatesSchema = z
  .array(gateSchema, "must be a list of gates")
  .max(MAX_GATES, `must be at most ${MAX_GATES}`);

/** As a thread keeps it. `space`: of the directory's own directive, so it counts only while that is trusted. */
export const keptGateSchema = gateFields
  .extend({ space: z.literal("project").optional() })
  .superRefine(refuse);
export type KeptGate = z.infer<typeof keptGateSchema>;

/** Those that count. @param isUntrusted nobody trusts what the directory brings */
export function gatesThatCount(
  gates: readonly KeptGate[] | undefined,
  isUntrusted: boolean | undefined,
): readonly (KeptGate & { index: number })[] {
  const all = (gates ?? []).map((gate, index) => ({ ...gate, index }));
  return isUntrusted ? all.filter(({ space }) => space !== "project") : all;
}

/** Whether somebody decides at a point. @param isUntrusted nobody trusts what the directory brings */
export function hasGateAt(
  gates: readonly KeptGate[] | undefined,
  at: GatePoint,
  isUntrusted: boolean | undefined,
): boolean {
  return gatesThatCount(gates, isUntrusted).some((gate) => gate.at === at);
}

export type Decider =
  | { is: "person" }
  | { is: "command"; command: string }
  | { is: "directive"; name: string };

export function deciderOf({ by }: Pick<Gate, "by">): Decider {
  if (by === "person") return { is: "person" };
  if (typeof by === "object")
    return "command" in by ? { is: "command", command: by.command } : { is: "directive", name: by.directive };
  const rest = by.slice(by.indexOf(":") + 1).trim();
  return /^command:/.test(by) ? { is: "command", command: rest } : { is: "directive", name: rest };
}

/**
 * As it holds for a reviewer: a person stands for the directive, so that no review waits for another one, and nothing is
 * let go on that the gate would have stopped.
 */
export function byPerson(gate: KeptGate): KeptGate {
  if (deciderOf(gate).is !== "directive") return gate;
  const { then, ...rest } = gate;
  return { ...rest, by: "person", ...(then !== undefined && gate.at !== "on_error" && { then }) };
}

/** Why an engine can't be held to a gate; undefined if it can. @param points that it can be held at */
export function problemOfGate(
  { at, if: fit }: Gate,
  points: readonly GatePoint[],
  engine: string,
): string | undefined {
  // How often a tool failed is looked at between two calls of the model.
  const needed = at === "on_error" && fit?.failures !== undefined ? "after_step" : at;
  return points.includes(needed) ? undefined : `${at}: the engine ${engine} can't be held there`;
}

/** The outcome of a no: the gate's own, or the usual one of its point. */
export function noOf({ at, then }: Pick<Gate, "at" | "then">): Exclude<GateOutcome, "continue"> {
  return then ?? (at === "before_step" || at === "on_limit" ? "fail" : "retry");
}

/** Seconds; undefined: for ever. */
export function timeoutOf(gate: Pick<Gate, "by" | "timeoutSeconds">): number | undefined {
  return gate.timeoutSeconds ?? (gate.by === "person" ? undefined : DECIDER_SECONDS);
}

/** Fields of `if`, by the points at which they mean something. */
const FITS: Readonly<Record<keyof NonNullable<Gate["if"]>, readonly GatePoint[]>> = {
  tool: ["before_step", "after_step", "on_error"],
  command: ["before_step", "after_step"],
  path: ["before_step", "after_step"],
  every: ["after_step"],
  failures: ["on_error"],
  limit: ["on_limit"],
};

function refuse(gate: Gate, { addIssue }: Pick<z.core.$RefinementCtx, "addIssue">): void {
  for (const { path, message } of contradictionsOf(gate)) addIssue({ code: "custom", path, message });
}

function contradictionsOf(gate: Gate): { path: string[]; message: string }[] {
  const { at, then, timeoutSeconds = 0 } = gate;
  const fit = gate.if ?? {};
  const found: { path: string[]; message: string }[] = [];
  for (const [name, points] of Object.entries(FITS))
    if (fit[name as keyof typeof fit] !== undefined && !points.includes(at))
      found.push({ path: ["if", name], message: `contradicts at: ${at}; it is for ${points.join(", ")}` });
  const other = (["tool", "command", "path"] as const).find((name) => fit[name] !== undefined);
  if (fit.every !== undefined && other !== undefined)
    found.push({ path: ["if", "every"], message: `contradicts ${other}: say one of them` });
  if (at === "on_error" && fit.tool !== undefined && fit.failures === undefined)
    found.push({ path: ["if", "tool"], message: "needs failures: how often that tool fails in a row" });
  const { is } = deciderOf(gate);
  if (at === "on_error" && is === "person" && then !== undefined)
    found.push({ path: ["then"], message: "contradicts by: person, who is asked which of them it is to be" });
  if (at === "on_limit" && then === "retry")
    found.push({ path: ["then"], message: "contradicts at: on_limit, where nothing is tried again" });
  if (at === "on_limit" && is === "directive")
    found.push({
      path: ["by"],
      message: "contradicts at: on_limit, where nothing is left to pay a directive",
    });
  if (is !== "person" && timeoutSeconds > 3_600)
    found.push({ path: ["timeoutSeconds"], message: "must be at most 3600, unless a person decides" });
  return found;
}

/** Its own fields have a fault each. */
function notFields(wrong: string) {
  return {
    error: ({ code }: { code?: string }) => (code === "unrecognized_keys" ? undefined : wrong),
  };
}
