/** A thread's `outputSchema` as a check of values. Whoever wrote the schema, and the value, may mean ill. */
import { createContext, runInContext } from "node:vm";
import { Ajv, type ErrorObject, type Options } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { lazy } from "../lazy.ts";

/** The time of a check, in the thread's own runner: a pattern can take for ever. */
const MAX_CHECK_MS = 2_000;
/** The time of making one, ours or one as claude makes it. The sidecar does nothing else meanwhile. */
const MAX_COMPILE_MS = 500;
const MAX_PROBLEM_CHARACTERS = 300;
const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;
const DRAFT_2020 = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

/** `format` and words that nobody knows say nothing, nothing is fetched, and no part is written out twice. */
const OPTIONS: Options = {
  strict: false,
  validateFormats: false,
  inlineRefs: false,
  logger: false,
  code: { optimize: false },
  // A field called `constructor` is missing if nobody gave one: what every object inherits is no field.
  ownProperties: true,
};
/** What is compiled keeps nothing for the next one; the draft has been looked at by then. */
const OWN = { ...OPTIONS, meta: false, validateSchema: false } as const;
const DRAFTS = {
  "07": { own: () => new Ajv(OWN), rules: lazy(() => new Ajv(OPTIONS)) },
  "2020": { own: () => new Ajv2020(OWN), rules: lazy(() => new Ajv2020(OPTIONS)) },
} as const;

/** Says what is wrong with a value, for people; undefined if it fits. */
export type OutputCheck = (value: unknown) => string | undefined;

/**
 * Makes the check of a schema of draft 2020-12, or of draft 07 if its `$schema` says so.
 * @param maxMs longest time for each run of it
 * @throws Error if it is no such schema, or if this takes too long.
 */
export function compileSchema(
  { $schema, ...schema }: Record<string, unknown>,
  maxMs: number = MAX_CHECK_MS,
): OutputCheck {
  if (schema["$async"] !== undefined) throw new Error("$async: is no part of JSON Schema.");
  const draft = DRAFTS[draftOf($schema)];
  const rules = draft.rules();
  rules.validateSchema({}); // it makes its own first: that counts for nobody's time
  const validate = within(MAX_COMPILE_MS, "can't be made a check of", () => {
    if (!rules.validateSchema(schema)) throw new Error(describe(rules.errors?.[0]));
    return draft.own().compile(schema);
  });
  return (value) => {
    try {
      if (within(maxMs, "can't be checked", () => validate(value))) return undefined;
    } catch (error) {
      return toSentence(error);
    }
    return describe(validate.errors?.[0]);
  };
}

/** As claude 2.1.330 makes its own check: a word that it does not know ends it. */
const STRICT_07 = { ...OWN, strict: true, strictTypes: false, strictTuples: false } as const;

/**
 * Says why an engine that knows the words of draft-07 alone would not start with a schema that {@link compileSchema}
 * takes; undefined if it would.
 */
export function findDraft07Problem({ $schema: _, ...schema }: Record<string, unknown>): string | undefined {
  try {
    within(MAX_COMPILE_MS, "can't be made a check of", () => new Ajv(STRICT_07).compile(schema));
    return undefined;
  } catch (error) {
    return toSentence(error).replace(/^strict mode: /, "");
  }
}

function draftOf($schema: unknown): keyof typeof DRAFTS {
  if ($schema === undefined) return "2020";
  if (typeof $schema === "string" && DRAFT_2020.test($schema)) return "2020";
  if (typeof $schema === "string" && DRAFT_07.test($schema)) return "07";
  throw new Error("$schema: must name draft 2020-12 or draft-07 of JSON Schema, or be left out.");
}

/** Ends the work when its time is over, also in the midst of a pattern. @throws Error in words for people */
function within<T>(maxMs: number, what: string, work: () => T): T {
  const result: { value?: T } = {};
  const run = () => {
    result.value = work();
  };
  try {
    runInContext("run()", createContext({ run }), { timeout: maxMs });
  } catch (error) {
    const isLate = errorIn(error).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    throw new Error(isLate ? `${what} within ${maxMs / 1_000} seconds.` : toSentence(error));
  }
  return result.value as T;
}

/** It may be of the context's own class, no `instanceof Error` here. */
function errorIn(thrown: unknown): { code?: string; message?: string } {
  return typeof thrown === "object" && thrown !== null ? thrown : {};
}

function describe(error: ErrorObject | undefined): string {
  if (!error) return "does not fit.";
  const { instancePath, message = "does not fit" } = error;
  return cut(`${instancePath === "" ? "it" : instancePath} ${message}.`);
}

function toSentence(error: unknown): string {
  const { message: text = String(error) } = errorIn(error);
  return cut(/[.!?]$/.test(text) ? text : `${text}.`);
}

function cut(text: string): string {
  return text.length <= MAX_PROBLEM_CHARACTERS ? text : `${text.slice(0, MAX_PROBLEM_CHARACTERS - 1)}…`;
}
