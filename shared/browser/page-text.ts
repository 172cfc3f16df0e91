/** The text of a browser's page, as agents read it: a part at a time. */
import * as z from "zod";

/** The most characters of one part. */
export const MAX_TEXT_CHARACTERS = 8_000;

export const pageTextSchema = z.object({
  /** The part, as the page shows it: text from outside. */
  text: z.string().transform((text) => text.slice(0, MAX_TEXT_CHARACTERS)),
  /** How many characters the whole text has. */
  length: z.int().min(0),
});
export type PageText = z.output<typeof pageTextSchema>;
