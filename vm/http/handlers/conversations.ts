/** Conversations that a person began by hand: listed, and taken into a thread. */
import type { conversations as routes } from "../../../shared/protocol/conversations.ts";
import type { Conversations } from "../../agents/conversations.ts";
import type { Handlers } from "./handler.ts";

export interface ConversationServices {
  conversations: Conversations;
}

export function conversationHandlers({ conversations }: ConversationServices): Handlers<typeof routes> {
  return {
    list: ({ query }) => conversations.list(query),
    take: ({ body, by }) => conversations.take(body, by),
  };
}
