/** The relay's mark on the sidecar: where a thread's delivery goes on after a restart. At most 4 KiB. */
import { z } from "zod";
import type { Thread } from "../../shared/api.ts";

export const deliveryMarkSchema = z.object({
  offset: z.int(),
  /** The first page that is not delivered for good, and the document's state there. */
  page: z.int(),
  state: z.string(),
  /** The last message before that page. */
  after: z.string(),
  /** The messages of the pages from `page` on, as many as there is room for. */
  ids: z.array(z.string()),
  /** Number and message of the full-screen picture; the message is empty while it is being sent. */
  screen: z.tuple([z.int(), z.string()]).optional(),
  /** `endedAt` of the last end that was told. */
  end: z.string().optional(),
  /** How many bells were told. */
  bells: z.int().default(0),
  /** The newest message of ours that is known. */
  sent: z.string(),
  /** Up to here, whatever people wrote has gone in. */
  seen: z.string(),
});
export type DeliveryMark = z.infer<typeof deliveryMarkSchema>;

/** What the document's own state may take of the mark. */
export const MAX_STATE_CHARACTERS = 3_000;
/** Pages of which the mark has no room are found again by their order. */
export const MAX_IDS = 20;

export function findDeliveryMark(thread: Thread): DeliveryMark | undefined {
  return thread.delivery === null ? undefined : deliveryMarkSchema.safeParse(thread.delivery).data;
}
