/** The relay's own notes: which Discord thread is whose, which messages are its own, and how far it has come. */
import { listQuerySchema } from "../api.ts";
import { homeRequestSchema } from "../home-api.ts";
import {
  channelLedgerReplySchema,
  deliverySchema,
  keptMessagesReplySchema,
  ledgersReplySchema,
  messageRequestSchema,
} from "../ledger-api.ts";
import { DEMO, HELPER } from "./example-threads.ts";
import { route } from "./route.ts";

export const ledger = {
  putHome: route({
    method: "put",
    path: "/thread/:id/home",
    summary: "Say that a Discord thread is about to be made for a thread, or which it is",
    body: homeRequestSchema,
    status: 204,
    errors: ["not_found", "thread_exists"],
    isRepeatable: true,
    example: { path: HELPER, body: { after: "1" } },
  }),
  putDelivery: route({
    method: "put",
    path: "/thread/:id/delivery",
    summary: "Keep the relay's mark; it comes back with the thread",
    body: deliverySchema,
    status: 204,
    errors: ["not_found"],
    isRepeatable: true,
    example: { path: DEMO, body: { offset: 0 } },
  }),
  putMessage: route({
    method: "put",
    path: "/thread/:id/messages/:key",
    summary: "Note in the relay's ledger that a message is about to be sent, or its id",
    body: messageRequestSchema,
    status: 204,
    errors: ["not_found"],
    isRepeatable: true,
    example: { path: { ...DEMO, key: "page.0" }, body: { messageId: "1" } },
  }),
  listKept: route({
    method: "get",
    path: "/thread/:id/messages",
    right: "read",
    summary: "Which message of Discord's is which of the relay's, of those that it had kept",
    status: 200,
    reply: keptMessagesReplySchema,
    errors: ["not_found"],
    isRepeatable: true,
    example: { path: DEMO },
  }),
  list: route({
    method: "get",
    path: "/threads/messages",
    summary: "The relay's ledgers of many threads at once",
    query: listQuerySchema,
    status: 200,
    reply: ledgersReplySchema,
    errors: [],
    isRepeatable: true,
    example: { query: { status: "open" } },
  }),
  putChannelMessage: route({
    method: "put",
    path: "/channel/:channelId/messages/:key",
    summary: "Note in the relay's ledger of a Discord channel that a message is about to be sent, or its id",
    body: messageRequestSchema,
    status: 204,
    errors: [],
    isRepeatable: true,
    example: { path: { channelId: "1", key: "inbox.2" }, body: { messageId: "3" } },
  }),
  listChannel: route({
    method: "get",
    path: "/channel/:channelId/messages",
    summary: "The relay's ledger of a Discord channel",
    status: 200,
    reply: channelLedgerReplySchema,
    errors: [],
    isRepeatable: true,
    example: { path: { channelId: "1" } },
  }),
};
