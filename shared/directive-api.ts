/** The part of the API about directives: which there are for a directory. */
import * as z from "zod";
import { SPACES } from "./agent/directive-ref.ts";
import { createRequestSchema } from "./api.ts";

export const directivesQuerySchema = z.strictObject({
  /** As in a request for a thread. */
  dir: createRequestSchema.shape.dir.default("."),
});

const str = z.string();

/** What a directive is, and what it lets its agent do. */
export const directiveSchema = z.object({
  /** What it is asked for by: its name, with its space before it if both spaces have the name. */
  as: str,
  name: str,
  description: str,
  space: z.enum(SPACES),
  /** Absolute. */
  file: str,
  /** The hash of the file. */
  sha256: str,
  engine: str.optional(),
  model: str.optional(),
  permissionMode: str.optional(),
  /** The tools that it has alone; left out if it has all. */
  tools: z.array(str).optional(),
  disallowedTools: z.array(str).optional(),
  mode: str.optional(),
  voice: str.optional(),
  workspace: str.optional(),
  spawn: str.optional(),
  limits: z.record(str, z.number()),
  inputs: z.record(
    str,
    z.looseObject({
      type: z.enum(["number", "boolean", "enum", "id", "text"]),
      description: str.optional(),
      values: z.array(str).optional(),
      default: z.union([str, z.number(), z.boolean()]).optional(),
    }),
  ),
  /** What of its file is not honoured, a sentence each. */
  notes: z.array(str),
});
export type DirectiveReply = z.infer<typeof directiveSchema>;

export const directivesReplySchema = z.object({
  directives: z.array(directiveSchema),
  /** Files that are none, though they lie where directives do. */
  faults: z.array(z.object({ file: str, line: z.int(), field: str, problem: str })),
});
export type DirectivesReply = z.infer<typeof directivesReplySchema>;
