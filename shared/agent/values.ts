/** The values that transcript events and inbox lines share. */
import * as z from "zod";

/** `uri` of an image or a file: a path inside the thread's folder, such as `attachments/9f2c.png`. */
export const blockSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("image"), mimeType: z.string(), uri: z.string() }),
  z.object({
    type: z.literal("resource_link"),
    uri: z.string(),
    name: z.string(),
    mimeType: z.string().optional(),
  }),
]);
export type Block = z.infer<typeof blockSchema>;

export const toolContentSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("content"), content: blockSchema }),
  z.object({
    type: z.literal("diff"),
    path: z.string(),
    oldText: z.string().nullable(),
    newText: z.string(),
  }),
]);
export type ToolContent = z.infer<typeof toolContentSchema>;

const count = z.number().int().nonnegative();

/** What was cut of a line: the whole body in `blobs/`, and its true length in bytes. */
export const cutSchema = z.object({
  sha256: z.string(),
  bytes: count,
  /** The body is the JSON text of what stood there, which was no string. */
  isJson: z.boolean().optional(),
});

/** Tokens of one call of the model, or of a turn. */
export const usageSchema = z.object({
  inputTokens: count,
  outputTokens: count,
  cachedReadTokens: count.optional(),
  cachedWriteTokens: count.optional(),
  thoughtTokens: count.optional(),
});
export type Usage = z.infer<typeof usageSchema>;

export const costSchema = z.object({ amount: z.number(), currency: z.literal("USD") });

/** ACP's kinds of tool calls. */
export const TOOL_KINDS = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
  "other",
] as const;
export type ToolKind = (typeof TOOL_KINDS)[number];

export const optionSchema = z.object({
  optionId: z.string(),
  name: z.string(),
  kind: z.enum(["allow_once", "allow_always", "reject_once", "reject_always"]),
  /** The rule that `allow_always` grants in this thread, such as `Bash(npm test:*)`. */
  rule: z.string().optional(),
});

export const questionSchema = z.object({
  question: z.string(),
  header: z.string(),
  multiSelect: z.boolean(),
  options: z.array(z.object({ label: z.string(), description: z.string().optional() })),
});
export type Question = z.infer<typeof questionSchema>;
