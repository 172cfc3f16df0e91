/** Threads of a relay that had no ledger: their marks named the messages. Their rows are made from it, once. */
import * as z from "zod";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import { logMarkSchema, pageKey, pictureKey } from "../content/log-mark.ts";
import { compareIds, type DiscordApi } from "../discord/api.ts";
import type { LogDeliveryMark } from "./delivery-mark.ts";
import { isSentBy } from "./ledger.ts";

/** So many pages such a mark named; the messages of later ones follow in their order. */
const MAX_IDS = 20;

const olderMarkSchema = logMarkSchema.omit({ kind: true, alternates: true }).extend({
  /** The messages of the pages from `page` on. */
  ids: z.array(z.string()),
  /** Number and message of the full-screen picture; the message is empty while it was being sent. */
  screen: z.tuple([z.int(), z.string()]).optional(),
  /** The newest message of ours that was known. */
  sent: z.string(),
  seen: z.string(),
});
export type OlderMark = z.infer<typeof olderMarkSchema>;

export function findOlderMark(delivery: unknown): OlderMark | undefined {
  return olderMarkSchema.safeParse(delivery).data;
}

/** The mark as it is written now. */
export function toDeliveryMark({ ids: _, screen, sent: __, ...mark }: OlderMark): LogDeliveryMark {
  return { ...mark, kind: "log", alternates: screen?.[0] ?? 0 };
}

/** @param unknown the bot's messages that are newer than the mark knows, the oldest first. */
export function rowsOf({ page, ids, screen, sent }: OlderMark, unknown: readonly string[]): LedgerRow[] {
  const rows = ids.map((id, i) => sentRow(pageKey(page + i), id));
  if (screen && screen[1] !== "") rows.push(sentRow(pictureKey(screen[0]), screen[1]));
  // The newest one that was known may have been no page: what is not known is newer than that.
  if (!rows.some(({ messageId }) => messageId === sent)) rows.push(sentRow("post.older", sent));
  const [first] = unknown;
  if (screen?.[1] === "" && first !== undefined) return [...rows, sentRow(pictureKey(screen[0]), first)];
  // A relay that was killed had sent one message at most that its mark did not know, unless there was no more room.
  const pages = ids.length < MAX_IDS ? unknown.slice(0, 1) : unknown;
  return [...rows, ...pages.map((id, i) => sentRow(pageKey(page + ids.length + i), id))];
}

export interface OlderThread {
  threadId: string;
  mark: OlderMark;
  /** The Discord thread's newest message, as Discord says. */
  lastMessageId: string | undefined;
  api: Pick<DiscordApi, "listMessagesAfter">;
  botId: string;
}

/** Looks for messages that the mark does not know, only if there are newer ones. */
export async function findOlderRows({
  threadId,
  mark,
  lastMessageId,
  api,
  botId,
}: OlderThread): Promise<LedgerRow[]> {
  const last = [mark.sent, ...mark.ids].reduce((a, b) => (compareIds(a, b) > 0 ? a : b));
  if (lastMessageId === undefined || compareIds(lastMessageId, last) <= 0) return rowsOf(mark, []);
  const messages = await api.listMessagesAfter(threadId, last);
  // Replies and answers were never pages.
  const unknown = messages.filter((message) => isSentBy(botId, message) && message.type === 0);
  return rowsOf(
    mark,
    unknown.map(({ id }) => id),
  );
}

function sentRow(key: string, messageId: string): LedgerRow {
  return { key, messageId, after: null, nonce: null };
}
