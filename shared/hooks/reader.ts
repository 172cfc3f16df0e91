/** The reader's answer to outside text: a schema that lets no words of the text through, and the question that it answers. */
import * as z from "zod";

/** Words that a stranger chooses stand in an id at most: so long, of these characters. */
const ID = { type: "string", pattern: "^[\\w./#-]{1,64}$", maxLength: 64 } as const;
const MAX_ITEMS = 100;
const MAX_DEPTH = 5;
const MAX_BYTES = 16 * 1024;

export const DEFAULT_QUESTION =
  "Of what kind is this news, is it urgent, and which numbers and ids in it would help to find what it is about?";
const DEFAULT_WORDS = ["success", "failure", "alert", "change", "question"];

type Schema = Record<string, unknown>;

export const readerSchema = z
  .strictObject({
    question: z.string().min(1).max(2_000).default(DEFAULT_QUESTION),
    /** The kinds of news that there are, beside `other`. */
    words: z
      .array(z.string().regex(/^[\w-]{1,32}$/, "must have at most 32 of A-Z, a-z, 0-9, _ and -"))
      .min(1)
      .max(50)
      .optional(),
    /** A JSON Schema in place of the usual one. */
    outputSchema: z.record(z.string(), z.unknown()).optional(),
  })
  .superRefine(({ words, outputSchema }, context) => {
    if (!outputSchema) return;
    if (words)
      return context.addIssue({
        code: "custom",
        path: ["words"],
        message: "are of the usual schema: give them, or outputSchema",
      });
    const problem = findLoosePart(outputSchema);
    if (problem !== undefined) context.addIssue({ code: "custom", path: ["outputSchema"], message: problem });
  });
export type ReaderSettings = z.output<typeof readerSchema>;

/** What the reader's answer must fit. */
export function answerSchemaOf({ words = DEFAULT_WORDS, outputSchema }: ReaderSettings): Schema {
  if (outputSchema) return outputSchema;
  return {
    type: "object",
    additionalProperties: false,
    required: ["kind", "urgent", "numbers", "ids"],
    properties: {
      kind: { type: "string", enum: [...new Set([...words, "other"])] },
      urgent: { type: "boolean" },
      numbers: { type: "array", maxItems: 20, items: { type: "number" } },
      ids: { type: "array", maxItems: 20, items: ID },
    },
  };
}

/** Words that say nothing of which text may come through. */
const HARMLESS = new Set([
  "title",
  "description",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "minLength",
  "minProperties",
  "required",
  "uniqueItems",
]);

/** The part of a schema that would let free text through, in words; undefined if none would. */
export function findLoosePart(schema: Schema): string | undefined {
  if (schema["type"] !== "object") return "must be of type object";
  const loose = findLoose(schema, "", 1);
  if (loose !== undefined) return loose;
  // Not before its depth is known: JSON is written by recursion.
  return new TextEncoder().encode(JSON.stringify(schema)).length > MAX_BYTES
    ? `may have at most ${MAX_BYTES} bytes`
    : undefined;
}

const isPlain = (value: unknown): boolean => typeof value !== "object" || value === null;
const isPlainList = (value: unknown): boolean => Array.isArray(value) && value.every(isPlain);

function findLoose(schema: unknown, path: string, depth: number): string | undefined {
  const loose = (why: string) => `${path === "" ? "it" : path} ${why}`;
  if (depth > MAX_DEPTH) return loose(`is nested more than ${MAX_DEPTH} deep`);
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    return loose("must be a schema");
  const { type, ...rest } = schema as Schema;
  const isHarmless = (word: string) => HARMLESS.has(word) && (isPlain(rest[word]) || isPlainList(rest[word]));
  const words = Object.keys(rest).filter((word) => !isHarmless(word));
  const unknown = (known: readonly string[]) => words.find((word) => !known.includes(word));
  const refused = (word: string) => loose(`must not have ${word}: it could let free text through`);
  if ("const" in rest || "enum" in rest) {
    const word = unknown(["const", "enum"]);
    const isFixed = "const" in rest ? isPlain(rest["const"]) : isPlainList(rest["enum"]);
    return word !== undefined
      ? refused(word)
      : isFixed
        ? undefined
        : loose("must have an enum of plain values");
  }
  switch (type) {
    case "boolean":
    case "integer":
    case "number": {
      const word = unknown([]);
      return word === undefined ? undefined : refused(word);
    }
    case "string": {
      const { pattern, maxLength } = rest;
      const isId = pattern === ID.pattern && typeof maxLength === "number" && maxLength <= ID.maxLength;
      const word = unknown(["pattern", "maxLength"]);
      if (word !== undefined) return refused(word);
      return isId
        ? undefined
        : loose(
            `would let free text through: give it an enum, or the pattern ${ID.pattern} and maxLength 64`,
          );
    }
    case "array": {
      const word = unknown(["items", "maxItems"]);
      if (word !== undefined) return refused(word);
      if (!(typeof rest["maxItems"] === "number" && rest["maxItems"] <= MAX_ITEMS))
        return loose(`must have maxItems of at most ${MAX_ITEMS}`);
      return findLoose(rest["items"], `${path}[]`, depth + 1);
    }
    case "object": {
      const word = unknown(["properties", "additionalProperties"]);
      if (word !== undefined) return refused(word);
      if (rest["additionalProperties"] !== false) return loose("must have additionalProperties: false");
      for (const [name, property] of Object.entries(rest["properties"] ?? {})) {
        const found = findLoose(property, path === "" ? name : `${path}.${name}`, depth + 1);
        if (found !== undefined) return found;
      }
      return undefined;
    }
    default:
      return loose("must be of type boolean, integer, number, string, array or object");
  }
}
