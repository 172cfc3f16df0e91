/** The inputs of a directive: what they may be, and how they get into its text. Pure. */
import * as z from "zod";
import { AppError } from "../errors.ts";

export const MAX_INPUTS = 20;
const MAX_VALUES = 50;
const MAX_TEXT = 10_000;

/** Bounded, so that it may stand in a system text: it holds no blank and no line end. */
const ID = /^[\w./#-]{1,64}$/;

export const inputNameSchema = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/, "must be 1 to 32 of A-Z, a-z, 0-9, _ and -, a letter first")
  .refine((name) => !(name in {}), "must not be a name that every object has");

/** The value of an input. */
export type InputValue = string | number | boolean;
export const inputValuesSchema = z.record(
  inputNameSchema,
  z.union([z.string().max(MAX_TEXT), z.number(), z.boolean()], "must be text, a number, true or false"),
);
export type InputValues = z.infer<typeof inputValuesSchema>;

const number = z.number("must be a number");
const line = (max: number) =>
  z
    .string("must be text")
    .min(1, "must not be empty")
    .max(max, `must be at most ${max} characters`)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, "must be one line");
const description = line(500).optional();

const specs = z.discriminatedUnion(
  "type",
  [
    z.strictObject({
      type: z.literal("number"),
      description,
      min: number.optional(),
      max: number.optional(),
      default: number.optional(),
    }),
    z.strictObject({
      type: z.literal("boolean"),
      description,
      default: z.boolean("must be true or false").optional(),
    }),
    z.strictObject({
      type: z.literal("enum"),
      description,
      values: z
        .array(line(100), "must be a list of texts")
        .min(1, "must not be empty")
        .max(MAX_VALUES, `must have at most ${MAX_VALUES} values`),
      default: line(100).optional(),
    }),
    z.strictObject({ type: z.literal("id"), description, default: line(64).optional() }),
    z.strictObject({
      type: z.literal("text"),
      description,
      default: z.string("must be text").max(MAX_TEXT).optional(),
    }),
  ],
  { error: 'must have a type: "number", "boolean", "enum" (with values), "id" or "text"' },
);
export const inputSpecSchema = specs.superRefine((spec, { addIssue }) => {
  const say = (field: string, message: string) => addIssue({ code: "custom", path: [field], message });
  if (spec.type === "number" && (spec.min ?? -Infinity) > (spec.max ?? Infinity))
    say("min", "contradicts max, which is less");
  if (spec.type === "enum" && new Set(spec.values).size < spec.values.length)
    say("values", "holds a value twice");
  const problem = spec.default === undefined ? undefined : problemOf(spec, spec.default);
  if (problem !== undefined) say("default", problem);
});
export type InputSpec = z.infer<typeof inputSpecSchema>;
export type InputSpecs = Readonly<Record<string, InputSpec>>;

/** Says why a value is none of an input; undefined if it is one. */
export function problemOf(spec: InputSpec, value: InputValue): string | undefined {
  switch (spec.type) {
    case "number":
      if (typeof value !== "number" || !Number.isFinite(value)) return "must be a number";
      if (spec.min !== undefined && value < spec.min) return `must be at least ${spec.min}`;
      return spec.max !== undefined && value > spec.max ? `must be at most ${spec.max}` : undefined;
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be true or false";
    case "enum":
      return spec.values.some((one) => one === value)
        ? undefined
        : `must be one of ${spec.values.join(", ")}`;
    case "id":
      return typeof value === "string" && ID.test(value)
        ? undefined
        : "must be 1 to 64 of A-Z, a-z, 0-9, _ . / # -";
    case "text":
      return typeof value === "string" && value.length <= MAX_TEXT && !value.includes("\0")
        ? undefined
        : `must be text of at most ${MAX_TEXT} characters`;
  }
}

/**
 * The values of all inputs, with defaults.
 * @throws AppError `invalid_request` naming each input that is missing, unknown or wrong
 */
export function readInputs(inputs: InputSpecs, given: Readonly<Record<string, InputValue>>): InputValues {
  const problems = Object.keys(given)
    .filter((name) => !Object.hasOwn(inputs, name))
    .map((name) => `inputs.${name}: is no input of this directive; it takes ${namesOf(inputs)}`);
  const values: InputValues = {};
  for (const [name, spec] of Object.entries(inputs)) {
    const value = Object.hasOwn(given, name) ? given[name] : spec.default;
    const problem = value === undefined ? `is missing; it ${needOf(spec)}` : problemOf(spec, value);
    if (problem !== undefined) problems.push(`inputs.${name}: ${problem}`);
    else if (value !== undefined) values[name] = value;
  }
  if (problems.length > 0) throw new AppError("invalid_request", `${problems.join("; ")}.`);
  return values;
}

/** `target=prod why="a b"`, as people write inputs on one line. @throws AppError `invalid_request` */
export function wordsOfLine(line: string): Record<string, string> {
  const words = new Map<string, string>();
  const rest = line.replace(
    WORD,
    (_, name: string, quoted: string | undefined, plain: string | undefined) => {
      if (words.has(name)) throw new AppError("invalid_request", `inputs.${name}: is given twice.`);
      words.set(name, quoted ?? plain ?? "");
      return "";
    },
  );
  if (rest.trim() !== "")
    throw new AppError(
      "invalid_request",
      `inputs: ${JSON.stringify(rest.trim().slice(0, 100))} must be name=value, or name="some words".`,
    );
  return Object.fromEntries(words);
}

const WORD = /(?<!\S)([A-Za-z][\w-]{0,31})=(?:"([^"]*)"|([^\s"]*))(?!\S)/g;

/** What a person typed for inputs (`count=3`), by the inputs' types. What fits no type stays text, and is refused later. */
export function valuesOfWords(
  inputs: Readonly<Record<string, { type: string }>>,
  words: Readonly<Record<string, string>>,
): InputValues {
  const read = (name: string, word: string): InputValue => {
    const type = Object.hasOwn(inputs, name) ? inputs[name]?.type : undefined;
    if (type === "number" && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(word.trim())) return Number(word);
    if (type === "boolean" && /^(true|false)$/.test(word.trim())) return word.trim() === "true";
    return word;
  };
  return Object.fromEntries(Object.entries(words).map(([name, word]) => [name, read(name, word)]));
}

/** Each `{{name}}` of an input, once: what an input holds is expanded no further. */
export function fillText(text: string, inputs: InputSpecs, values: InputValues): string {
  return text.replace(PLACE, (place, name: string) =>
    Object.hasOwn(inputs, name) && Object.hasOwn(values, name) ? String(values[name]) : place,
  );
}

/** Free text stands in the first message, behind what was asked. */
export function fillPrompt(prompt: string, inputs: InputSpecs, values: InputValues): string {
  const texts = Object.entries(inputs).flatMap(([name, { type }]) =>
    type === "text" && Object.hasOwn(values, name) ? [`${name}:\n${String(values[name])}`] : [],
  );
  return [prompt, ...texts].filter((part) => part !== "").join("\n\n");
}

export const PLACE = /\{\{([A-Za-z][A-Za-z0-9_-]*)\}\}/g;

function needOf(spec: InputSpec): string {
  switch (spec.type) {
    case "enum":
      return `is one of ${spec.values.join(", ")}`;
    case "boolean":
      return "is true or false";
    case "number":
      return "is a number";
    case "id":
      return "is an id";
    case "text":
      return "is text";
  }
}

function namesOf(inputs: InputSpecs): string {
  const names = Object.keys(inputs);
  return names.length === 0 ? "none" : names.join(", ");
}
