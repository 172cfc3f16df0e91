/** The relay's mark on the sidecar: where a thread's delivery goes on after a restart. At most 4 KiB. */
import * as z from "zod";
import { browserMarkSchema } from "../content/browser-content.ts";
import { logMarkSchema } from "../content/log-mark.ts";
import { roomMarkSchema } from "../content/room-content.ts";
import { transcriptMarkSchema } from "../content/transcript/content.ts";

const delivery = {
  /** Up to here all messages are taken care of; what people wrote after it may still have to go in. */
  seen: z.string(),
  /** The keys of messages that somebody deleted, and that stay away. */
  gone: z.array(z.string()).optional(),
};
const logDeliverySchema = logMarkSchema.extend(delivery);
const browserDeliverySchema = browserMarkSchema.extend(delivery);
const roomDeliverySchema = roomMarkSchema.extend(delivery);
const transcriptDeliverySchema = transcriptMarkSchema.extend(delivery);
export type DeliveryPlace = Pick<LogDeliveryMark, "seen" | "gone">;
export const deliveryMarkSchema = z.discriminatedUnion("kind", [
  logDeliverySchema,
  transcriptDeliverySchema,
  browserDeliverySchema,
  roomDeliverySchema,
]);
export type DeliveryMark = z.infer<typeof deliveryMarkSchema>;
export type LogDeliveryMark = z.infer<typeof logDeliverySchema>;

/** Undefined if there is none, or one of another kind or version. */
export function findDeliveryMark(delivery: unknown): DeliveryMark | undefined {
  return deliveryMarkSchema.safeParse(delivery).data;
}
