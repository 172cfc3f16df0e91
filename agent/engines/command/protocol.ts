/** The lines between the runner and our program around a person's own one (main.ts): a small protocol of our own. */
import * as z from "zod";

const str = z.string();

/** From the runner. */
export const toAdapter = z.discriminatedUnion("op", [
  z.object({ op: z.literal("open") }),
  z.object({ op: z.literal("deliver"), id: str, text: str }),
  z.object({ op: z.literal("interrupt") }),
  z.object({ op: z.literal("end") }),
]);
export type ToAdapter = z.infer<typeof toAdapter>;

/** To the runner. */
export const fromAdapter = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ready") }),
  /** On the disk before the program starts: it is never started a second time for this delivery. */
  z.object({ type: z.literal("taken"), id: str }),
  z.object({
    type: z.literal("answer"),
    id: str,
    /** What the program printed, without escape sequences and control characters. */
    text: str,
    /** Why it did not end well; not set if it did. */
    problem: str.optional(),
    isInterrupted: z.boolean(),
    durationMs: z.number().int().nonnegative(),
  }),
]);
export type FromAdapter = z.infer<typeof fromAdapter>;
