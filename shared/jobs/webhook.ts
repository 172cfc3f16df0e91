/** A job that a request at the hook's door starts. */
import * as z from "zod";

export const webhookSchema = z.strictObject({ type: z.literal("webhook") });
export type Webhook = z.output<typeof webhookSchema>;
