/** The relay's own notes. The mark: how far it has come. The ledger: which of Discord's messages are ours, and which one is in flight. */
import * as z from "zod";
import { knownDiscordId, snowflakeSchema } from "./ids.ts";

/** What a thread's ledger may hold: the relay forgets messages that will not change any more. */
export const MAX_MESSAGES = 1_000;
export const MAX_DELIVERY_BYTES = 4096;

/** The relay's name for one message of a thread, such as `page.12`. */
export const messageKeySchema = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/, "must be 1 to 64 characters of A-Z, a-z, 0-9, `.`, `_` and `-`");
const forgetSchema = z.array(messageKeySchema).max(MAX_MESSAGES).default([]);
/**
 * A row of a thread's ledger: what Discord holds of ours. Before a message is sent its intent is noted, after it its
 * id. One message is in flight at a time: a new intent drops an older one that has no id.
 */
export const messageRequestSchema = z.union([
  z.strictObject({
    /** The newest message of ours that is known: the one that is about to be sent will be newer. */
    after: snowflakeSchema,
    /** What it is sent with, so that Discord makes it once for some minutes. */
    nonce: z.string().regex(/^[A-Za-z0-9_-]{1,25}$/, "must be 1 to 25 characters of A-Z, a-z, 0-9, _ and -"),
    /** Keys whose rows are not needed any more. */
    forget: forgetSchema,
  }),
  z.strictObject({
    messageId: snowflakeSchema,
    forget: forgetSchema,
    /** The id leads to the key as long as the thread is kept, also once the row is forgotten. Of threads alone. */
    keep: z.boolean().default(false),
  }),
]);
export type MessageRequest = z.input<typeof messageRequestSchema>;

export const ledgerRowSchema = z.object({
  key: z.string(),
  /** Null while it is in flight; then `after` and `nonce` are those of the intent. */
  messageId: knownDiscordId.nullable(),
  after: knownDiscordId.nullable(),
  nonce: z.string().nullable(),
});
export type LedgerRow = z.infer<typeof ledgerRowSchema>;
export const ledgersReplySchema = z.object({
  /** By the thread's id in Discord; threads without rows are left out. */
  threads: z.record(z.string(), z.array(ledgerRowSchema)),
});

/** A message that a person may ask about: Discord's id, and the relay's name for it. */
export const keptMessageSchema = z.object({ messageId: knownDiscordId, key: z.string() });
export type KeptMessage = z.infer<typeof keptMessageSchema>;
/** The oldest first. */
export const keptMessagesReplySchema = z.object({ messages: z.array(keptMessageSchema) });

export const channelLedgerReplySchema = z.object({ messages: z.array(ledgerRowSchema) });

/** The relay's mark: how far a thread's output has been delivered, and what it needs to go on from there. */
export const deliverySchema = z
  .looseObject({ offset: z.int().min(0) })
  .refine((mark) => jsonBytes(mark) <= MAX_DELIVERY_BYTES, {
    error: `must be at most ${MAX_DELIVERY_BYTES} bytes of JSON`,
  });
/** More than any limit where it is nested too deeply to be written. */
function jsonBytes(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return Number.POSITIVE_INFINITY;
  }
}
export type Delivery = z.infer<typeof deliverySchema>;
