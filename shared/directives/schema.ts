/** The head of a directive: Claude Code's fields in its own words, and ours in the block `threadmux`. */
import * as z from "zod";
import { allModes, ENGINE_NAMES } from "../agent/engines/engines.ts";
import { gatesSchema } from "../agent/gates.ts";
import { limitsSchema } from "../agent/limit-schema.ts";
import { MAX_TOOLS, toolNameSchema } from "../agent/tool-names.ts";
import { inputNameSchema, inputSpecSchema, MAX_INPUTS } from "./inputs.ts";

/** The name of a directive is a part of a thread's name and of `project:name`. */
export const directiveNameSchema = z
  .string(missingOr("must be text"))
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/,
    "must be 1 to 64 of a-z, 0-9 and -, and begin and end with a letter or digit",
  );

const line = (max: number) =>
  z
    .string(missingOr("must be text"))
    .max(max, `must be at most ${max} characters`)
    .refine((text) => text.trim() !== "", "must not be empty");

const tools = z.preprocess(
  (value) => (typeof value === "string" ? value.split(",").map((tool) => tool.trim()) : value),
  z
    .array(toolNameSchema, "must be tools with commas between them, or a list of them")
    .max(MAX_TOOLS, `must be at most ${MAX_TOOLS} tools`),
);

const oneOf = <const T extends readonly [string, ...string[]]>(names: T) =>
  z.enum(names, `must be ${names.length > 1 ? "one of " : ""}${names.join(", ")}`);

const blockSchema = z.strictObject(
  {
    engine: oneOf(ENGINE_NAMES).optional(),
    mode: oneOf(["conversation", "single"]).optional(),
    limits: limitsSchema.strict().optional(),
    workspace: oneOf(["shared", "worktree"]).optional(),
    outputSchema: z.record(z.string(), z.unknown(), "must be a JSON Schema").optional(),
    inputs: z
      .record(inputNameSchema, inputSpecSchema, "must be names with a type each")
      .refine((inputs) => Object.keys(inputs).length <= MAX_INPUTS, `must be at most ${MAX_INPUTS}`)
      .optional(),
    /** How `spawn_thread` waits for it. A `single` one takes no message after its first turn. */
    spawn: oneOf(["await", "async", "single"]).optional(),
    voice: oneOf(["message"]).optional(),
    gates: gatesSchema.optional(),
  },
  notFields("must be a block of fields"),
);

export const headSchema = z.looseObject(
  {
    name: directiveNameSchema,
    description: line(10_000),
    tools: tools.optional(),
    disallowedTools: tools.optional(),
    model: line(200).optional(),
    effort: z.union([line(20), z.number()], "must be a word or a number").optional(),
    permissionMode: oneOf(allModes() as [string, ...string[]]).optional(),
    maxTurns: z
      .number("must be a number")
      .int("must be a whole number")
      .positive("must be more than 0")
      .optional(),
    isolation: line(50).optional(),
    threadmux: blockSchema.optional(),
  },
  "must be a block of fields",
);
export type Head = z.infer<typeof headSchema>;

function missingOr(wrong: string) {
  return { error: ({ input }: { input?: unknown }) => (input === undefined ? "is missing" : wrong) };
}

/** Its own fields have a fault each. */
function notFields(wrong: string) {
  return {
    error: ({ code }: { code?: string }) => (code === "unrecognized_keys" ? undefined : wrong),
  };
}
