/** What people may ask of a thread's model: parameters of its calls, and abilities that it must have. */
import * as z from "zod";

const whole = (max: number) =>
  z
    .number("must be a number")
    .int("must be a whole number")
    .positive("must be more than 0")
    .max(max, `must be at most ${max}`);

const MAX_TOKENS = 100_000_000;

/** An engine declares which of them it honours; any other is refused by its name. */
export const paramShape = {
  temperature: z
    .number("must be a number")
    .min(0, "must be at least 0")
    .max(2, "must be at most 2")
    .optional(),
  thinking: z.enum(["low", "medium", "high"], "must be low, medium or high").optional(),
  /** Compaction begins there, at the latest. */
  maxInputTokens: whole(MAX_TOKENS).optional(),
  /** The most output of one call of the model. */
  maxOutputTokens: whole(MAX_TOKENS).optional(),
  /** How long one call of the model may take. */
  callSeconds: whole(86_400).optional(),
};
export const paramsSchema = z.object(paramShape);
export type Params = z.infer<typeof paramsSchema>;
export type ParamName = keyof typeof paramShape;
export const PARAM_NAMES = Object.keys(paramShape) as ParamName[];

/** A thread with an engine or a model that lacks one of them is refused. */
export const NEEDS = ["images", "embeddings"] as const;
export type Need = (typeof NEEDS)[number];
export const needsSchema = z.array(z.enum(NEEDS)).max(NEEDS.length);
