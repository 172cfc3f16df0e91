/** What a thread keeps of the directive that it was made by. */
import * as z from "zod";

/** The directory's own, or the person's, wherever the directory lies. */
export const SPACES = ["project", "user"] as const;
export type Space = (typeof SPACES)[number];

export const directiveRefSchema = z.object({
  name: z.string().min(1).max(64),
  space: z.enum(SPACES),
  /** Absolute. */
  file: z.string().startsWith("/"),
  /** The hash of the file as it was then. */
  sha256: z.string(),
  inputs: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});
export type DirectiveRef = z.infer<typeof directiveRefSchema>;
