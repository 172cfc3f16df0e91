/** A conversation that was held elsewhere: whoever creates an agent thread hands it over, and the agent knows it. */
import * as z from "zod";
import { formatCount } from "../format-count.ts";

export const MAX_INITIAL_MESSAGES = 200;
/** The most of all texts together. */
export const MAX_INITIAL_BYTES = 256 * 1024;

/** Fields of the event in the transcript, one a message, and of the inbox's line that it comes from. */
export const initialMessageFields = () => ({
  role: z.enum(["user", "assistant"]),
  text: z.string(),
});

const initialMessageSchema = z.strictObject({
  role: initialMessageFields().role,
  text: z
    .string()
    .refine((text) => text.trim() !== "", "must not be empty")
    .refine((text) => !text.includes("\0"), "must not hold a NUL"),
});

/** The oldest first. */
export const initialMessagesSchema = z
  .array(initialMessageSchema)
  .max(MAX_INITIAL_MESSAGES, `must be at most ${MAX_INITIAL_MESSAGES} messages`)
  .refine(
    (messages) => messages.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0) <= MAX_INITIAL_BYTES,
    `texts must be at most ${formatCount(MAX_INITIAL_BYTES)} bytes in all`,
  );
export type InitialMessage = z.infer<typeof initialMessageSchema>;
