/**
 * How messages are made from the transcript for one provider, as the provider's file says it: each part of a
 * conversation has a form, in which `{{name}}` stands for what the transcript has there. Pure.
 */
import * as z from "zod";

type Values = Readonly<Record<string, unknown>>;

/** Makes a part of a message. A place that is a whole string in the form takes the value as it is, of any type. */
export type Make = (values: Values) => unknown;

const PLACE = /\{\{(\w+)\}\}/g;

/** A form that names each of these places, and no other. */
const form = (...places: string[]) =>
  z.unknown().transform((value, context): Make => {
    const fault = (message: string) => context.issues.push({ code: "custom", message, input: value });
    if (value === undefined || value === null) fault(value === null ? "must be a form" : "is missing");
    const named = placesOf(value);
    const missing = places.find((place) => !named.has(place));
    const strange = [...named].find((place) => !places.includes(place));
    if (missing !== undefined) fault(`does not name {{${missing}}}`);
    if (strange !== undefined) fault(`names {{${strange}}}, which is nothing here`);
    return compile(value);
  });

/** Options for the package that speaks to the provider. */
export const optionsSchema = z.record(
  z.string(),
  z.record(z.string(), z.json(), required("an object")),
  required("an object"),
);

const word = z.string(required("a text"));

export const mappingSchema = z.strictObject(
  {
    system: form("text"),
    /** Marks the end of what the provider keeps: on so many of the newest messages that are not its own. */
    cache: z
      .strictObject(
        {
          newest: z.int(required("a whole number")).min(1, "must be at least 1").max(4, "must be at most 4"),
          mark: optionsSchema,
        },
        required("an object, or null"),
      )
      .nullable(),
    /** A message of people's, or of what tells the model news. */
    said: form("parts"),
    /**
     * Stands between texts that people say in a row, which are one text then; null: each is a part of its own. A package
     * may send one part as something else than the first of two.
     */
    betweenTexts: word.nullable(),
    text: form("text"),
    image: form("mediaType", "data"),
    goneImage: form("uri"),
    summary: form("text"),
    /** A message of the model's. */
    answer: form("parts"),
    words: form("text"),
    thought: form("text").nullable(),
    call: form("id", "name", "input"),
    /** The message that holds the results of an answer's calls. */
    results: form("parts"),
    result: form("id", "name", "text"),
    failure: form("id", "name", "text"),
    resultImages: z.discriminatedUnion(
      "place",
      [
        z.strictObject({
          place: z.literal("result"),
          result: form("id", "name", "parts"),
          text: form("text"),
          image: form("mediaType", "base64"),
        }),
        /** In a message of the user's behind the results, after this text. */
        z.strictObject({ place: z.literal("behind"), text: form() }),
      ],
      {
        error: ({ input }) =>
          typeof input === "object" && input !== null
            ? required('"result" or "behind"').error({ input: (input as { place?: unknown }).place })
            : required("an object").error({ input }),
      },
    ),
    /** The words that the model reads of a call without text. */
    ends: z.strictObject(
      {
        /** A death cut it off. */
        unknown: word,
        silent: word,
        silentFailure: word,
      },
      required("an object"),
    ),
  },
  required("an object"),
);
export type Mapping = z.infer<typeof mappingSchema>;

/** Words a fault for whoever wrote the file: that a part is missing, or must be something else. */
export function required(what: string) {
  return {
    error: (issue: { readonly input?: unknown; readonly keys?: unknown }): string => {
      if (Array.isArray(issue.keys)) return `has no part ${JSON.stringify(issue.keys[0])}`;
      return issue.input === undefined ? "is missing" : `must be ${what}`;
    },
  };
}

function placesOf(value: unknown): Set<string> {
  const text = JSON.stringify(value) ?? "";
  return new Set(Array.from(text.matchAll(PLACE), ([, name = ""]) => name));
}

/** Once for a file, since a long conversation has thousands of parts. */
function compile(value: unknown): Make {
  if (typeof value === "string") return compileText(value);
  if (Array.isArray(value)) {
    const parts = value.map(compile);
    return (values) => parts.map((make) => make(values));
  }
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value).map(([name, part]) => [name, compile(part)] as const);
    return (values) => Object.fromEntries(fields.map(([name, make]) => [name, make(values)]));
  }
  return () => value;
}

function compileText(text: string): Make {
  const pieces = text.split(PLACE);
  const [before, name = "", after] = pieces;
  if (pieces.length === 3 && before === "" && after === "") return (values) => values[name];
  return (values) => pieces.map((piece, at) => (at % 2 === 0 ? piece : String(values[piece]))).join("");
}
