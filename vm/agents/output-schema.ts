/** What a result's schema may be before it is handed to an engine, on whose command line it stands. */
import { compileSchema, findDraft07Problem } from "../../shared/agent/compile-schema.ts";
import { ENGINES, type EngineName } from "../../shared/agent/engines/engines.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import { formatCount } from "../../shared/format-count.ts";

/** Linux takes at most 128 KiB as one argument. */
const MAX_BYTES = 64 * 1024;
const MAX_DEPTH = 32;
/** A check of a thousand parts took up to a second to make on a busy machine. */
const MAX_PARTS = 250;
const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"] as const;

/**
 * No pattern is run here: that is up to the thread's own runner.
 * @throws AppError `invalid_request`, `too_large`, `unsupported` if the engine would not start with it
 */
export function checkOutputSchema(schema: Record<string, unknown>, engine: EngineName): void {
  let parts = 0;
  const open: { value: unknown; depth: number }[] = [{ value: schema, depth: 1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth } = next;
    if (typeof value !== "object" || value === null) continue;
    if (depth > MAX_DEPTH) throw invalid(`may be nested at most ${MAX_DEPTH} deep.`);
    if (++parts > MAX_PARTS) throw invalid(`may have at most ${MAX_PARTS} objects and lists.`);
    const fields = value as Record<string, unknown>;
    for (const name of REFERENCES) {
      const target = fields[name];
      if (typeof target === "string" && !target.startsWith("#"))
        throw invalid(`${name}: nothing is fetched; it must begin with "#".`);
    }
    for (const field of Object.values(fields)) open.push({ value: field, depth: depth + 1 });
  }
  // Not before its depth is known: JSON is written by recursion.
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > MAX_BYTES) {
    const limit = formatCount(MAX_BYTES);
    throw new AppError("too_large", `agent.outputSchema: may have at most ${limit} bytes of JSON.`);
  }
  try {
    compileSchema(schema);
  } catch (error) {
    throw invalid(errorText(error));
  }
  if (ENGINES[engine].capabilities.outputSchema !== "draft-07") return;
  const problem = findDraft07Problem(schema);
  if (problem === undefined) return;
  throw new AppError(
    "unsupported",
    `agent.outputSchema: ${engine}, which knows the words of draft-07 alone, would not start with it: ${problem}`,
  );
}

function invalid(why: string): AppError {
  return new AppError("invalid_request", `agent.outputSchema: ${why}`);
}
