/** A job that a request at the hook's door starts. */
import * as z from "zod";
import { readerSchema } from "../hooks/reader.ts";
import { hookSecretSchema, hookSettingsSchema } from "../hooks/settings.ts";

const fields = {
  type: z.literal("webhook"),
  ...hookSettingsSchema.shape,
  /** The door for the body's text; of these three at most one is given, and without any it is the reader's. */
  reader: readerSchema.optional(),
  /** The text itself goes in, behind marks, and marks the thread. */
  raw: z.literal(true, "must be true, or left out").optional(),
  /** It is from a program of ours, and goes in as it is. */
  trust: z.literal("own", "must be own, or left out").optional(),
};

const ONE_DOOR = { path: ["reader"], error: "give at most one of reader, raw and trust" };
const hasOneDoor = ({ reader, raw, trust }: { reader?: unknown; raw?: unknown; trust?: unknown }) =>
  [reader, raw, trust].filter((door) => door !== undefined).length <= 1;

/** As the sidecar keeps it: the secret lies elsewhere. */
export const webhookSchema = z.strictObject(fields).refine(hasOneDoor, ONE_DOOR);
export type Webhook = z.output<typeof webhookSchema>;

/** As a caller makes it; it is refused without a secret. */
export const sentWebhookSchema = z
  .strictObject({ ...fields, secret: hookSecretSchema.optional() })
  .refine(hasOneDoor, ONE_DOOR);
