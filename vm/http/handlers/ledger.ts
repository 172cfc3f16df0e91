/** The relay's own notes. */
import type { ledger as routes } from "../../../shared/protocol/ledger.ts";
import type { Homes } from "../../threads/homes.ts";
import type { Ledgers } from "../../threads/ledgers.ts";
import type { Threads } from "../../threads/threads.ts";
import type { Handlers } from "./handler.ts";

export interface LedgerServices {
  threads: Threads;
  ledgers: Ledgers;
  homes: Homes;
}

export function ledgerHandlers({ threads, ledgers, homes }: LedgerServices): Handlers<typeof routes> {
  return {
    putHome: ({ params, body }) => homes.put(params.id, body),
    putDelivery: ({ params, body }) => threads.setDelivery(params.id, body),
    putMessage: ({ params, body }) => ledgers.put(params.id, params.key, body),
    listKept: ({ params }) => ({ messages: ledgers.listKept(params.id) }),
    list: ({ query }) => ({ threads: ledgers.list(query.status) }),
    putChannelMessage: ({ params, body }) => ledgers.putOfChannel(params.channelId, params.key, body),
    listChannel: ({ params }) => ({ messages: ledgers.listOfChannel(params.channelId) }),
  };
}
