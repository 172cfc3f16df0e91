/** The part of the fold that knows messages and deliveries. */

import { isHuman, parsePrincipal } from "../principal.ts";
import type { EventOf, ThreadEvent } from "./events.ts";
import { causesAfter } from "./fold-causes.ts";
import { holdMessage, hopsAfter } from "./fold-held.ts";
import type { OpenDelivery, ThreadFold, WaitingMessage } from "./fold-types.ts";

export function foldMessage(fold: ThreadFold, event: ThreadEvent): ThreadFold {
  switch (event.type) {
    case "user_message":
      return foldUserMessage(fold, event);
    case "message_edit":
      if (!event.applied) return fold;
      return {
        ...fold,
        messages: fold.messages.map((message) => {
          if (message.messageId !== event.messageId) return message;
          const { blobs: _, ...rest } = message;
          const { content, blobs } = event;
          const plain = message.plain || (event.plain ?? false) || isForeign({ source: event.by });
          return { ...rest, content, plain, ...(blobs && { blobs }) };
        }),
      };
    case "message_withdraw":
      if (!event.applied) return fold;
      return { ...fold, messages: fold.messages.filter((message) => message.messageId !== event.messageId) };
    case "delivery":
      return foldDelivery(fold, event.deliveryId, event.messageIds);
    case "delivery_update":
      return foldUpdate(fold, event.deliveryId, event.status);
    default:
      return fold;
  }
}

function foldUserMessage(fold: ThreadFold, event: EventOf<"user_message">): ThreadFold {
  const message: WaitingMessage = {
    seq: event.seq,
    messageId: event.messageId,
    source: event.source,
    content: event.content,
    ...(event.blobs && { blobs: event.blobs }),
    when: event.when ?? "now",
    plain: event.plain ?? false,
    ...(event.handle !== undefined && { handle: event.handle, at: event.ts }),
    ...(event.channelId !== undefined && { channelId: event.channelId }),
    ...(event.causes && { causes: event.causes }),
  };
  if (event.held) return holdMessage(fold, message);
  const taken = { ...fold, hops: hopsAfter(fold, event), messages: [...fold.messages, message] };
  // What failed, or was stopped, another agent does not set going again.
  if (parsePrincipal(event.source).kind === "thread") {
    // A stop ends a room's round. It may have found a member that waited for a place; the next round sets that going again.
    const isRooms = /^room(\/|$)/.test(event.handle ?? "");
    return isRooms && fold.stoppedAt === "place" ? { ...taken, stoppedAt: null } : taken;
  }
  // A person who writes wants it to go on: what failed is tried again.
  const cutOffs = { count: 0, at: fold.cutOffs.at && event.ts };
  return { ...taken, failure: null, stoppedAt: null, cutOffs };
}

function foldDelivery(fold: ThreadFold, deliveryId: string, messageIds: readonly string[]): ThreadFold {
  const isIn = (message: WaitingMessage) => messageIds.includes(message.messageId);
  const messages = fold.messages.filter(isIn);
  const { undone, ...rest } = fold;
  // Before a command nothing may stand: it would be none any more.
  const isTold = undone !== undefined && !messages.some(isCommand);
  const delivery: OpenDelivery = { deliveryId, status: "noted", messages, ...(isTold && { undone }) };
  return {
    ...(isTold ? rest : fold),
    ...causesAfter(fold, messages),
    messages: fold.messages.filter((message) => !isIn(message)),
    deliveries: [...fold.deliveries, delivery],
    deliveryIds: [...fold.deliveryIds, deliveryId].slice(-100),
    ...(messages.some(isForeign) && {
      foreignDeliveryIds: [...(fold.foreignDeliveryIds ?? []), deliveryId].slice(-100),
    }),
  };
}

/** Whether the engine reads a message as a command. */
export function isCommand({ content: [block], handle }: WaitingMessage): boolean {
  return handle === undefined && block?.type === "text" && block.text.startsWith("/");
}

/** Whether no person wrote it. */
export function isForeign({ source }: Pick<WaitingMessage, "source">): boolean {
  return !isHuman(parsePrincipal(source));
}

/**
 * Whether a message is not a person's typed words alone. Then the engine must read no command and no @path in it: an
 * @path would bring a file of the machine into the model's context, without an ask.
 */
export function expandsNothing(
  message: Pick<WaitingMessage, "source" | "plain" | "content" | "handle">,
): boolean {
  // The engine is told a file's name and place as text.
  const hasPathInName = message.content.some(
    (block) => block.type !== "text" && JSON.stringify(block).includes("@"),
  );
  return message.plain || message.handle !== undefined || isForeign(message) || hasPathInName;
}

function foldUpdate(
  fold: ThreadFold,
  deliveryId: string,
  status: EventOf<"delivery_update">["status"],
): ThreadFold {
  if (status === "completed" || status === "cancelled") {
    return { ...fold, deliveries: fold.deliveries.filter((open) => open.deliveryId !== deliveryId) };
  }
  const isTaken = status === "started" && fold.engine?.isUp;
  return {
    ...fold,
    engine: fold.engine && isTaken ? { ...fold.engine, takenCount: fold.engine.takenCount + 1 } : fold.engine,
    deliveries: fold.deliveries.map((open) =>
      open.deliveryId === deliveryId ? { ...open, status: status === "started" ? "started" : "noted" } : open,
    ),
  };
}
