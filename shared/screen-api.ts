/** The part of the API about what a terminal shows now. */
import * as z from "zod";

export const screenQuerySchema = z.strictObject({ format: z.enum(["text", "ansi"]).default("text") });
export type ScreenQuery = z.input<typeof screenQuerySchema>;
export const screenReplySchema = z.object({
  /** Rows joined by newlines; with `ansi` they hold SGR sequences. */
  screen: z.string(),
  cols: z.int(),
  rows: z.int(),
  /** From 0, in cells. */
  cursor: z.object({ x: z.int(), y: z.int() }),
  /** Whether a full-screen program has the alternate screen. */
  alternate: z.boolean(),
  /** There, and true, if the program has asked for pastes in one piece. */
  bracketedPaste: z.literal(true).optional(),
  title: z.string(),
  /** There if links that were printed lately stand on the screen and their text does not tell the address. */
  links: z.array(z.object({ text: z.string(), address: z.string() })).optional(),
});
export type ScreenReply = z.infer<typeof screenReplySchema>;
