/** REST: messages and reactions. */
import { rateLimited, refuse } from "./discord-error.ts";
import { deleteMessage, editMessage, listMessages, sendMessage } from "./messages.ts";
import { has, Permission } from "./permissions.ts";
import { addReaction, removeReaction } from "./reactions.ts";
import { getId, getLimit, getVisibleChannel, parse, type Route, type RouteContext } from "./route.ts";
import { snowflakeTime } from "./snowflake.ts";
import { isThread, type Message, MessageFlag } from "./types.ts";
import { messageCreateSchema, messageEditSchema } from "./validate.ts";
import { messageWire, nonceWire, type Wire } from "./wire.ts";

const REACTION = "/channels/:channel/messages/:message/reactions/:emoji/@me";

export const messageRoutes: Route[] = [
  {
    method: "GET",
    path: "/channels/:channel/messages",
    auth: "bot",
    handle: (context) => {
      const channel = getVisibleChannel(context);
      const limit = getLimit(context, { min: 1, max: 100, usual: 50 });
      // Without READ_MESSAGE_HISTORY the list is empty; that is not an error.
      const permissions = context.world.permissions(context.botId, channel);
      if (!has(permissions, Permission.readMessageHistory)) return { status: 200, body: [] };
      const [before, after, around] = ["before", "after", "around"].map((name) => context.query.get(name));
      const messages = listMessages(context.world, channel.id, {
        limit,
        ...(before ? { before } : {}),
        ...(after ? { after } : {}),
        ...(around ? { around } : {}),
      });
      return { status: 200, body: messages.map((message) => toWire(context, message)) };
    },
  },
  {
    method: "POST",
    path: "/channels/:channel/messages",
    auth: "bot",
    handle: (context) => {
      const message = sendMessage(context.world, {
        userId: context.botId,
        channel: getVisibleChannel(context),
        input: parse(context, messageCreateSchema),
        files: context.files,
      });
      return { status: 200, body: { ...toWire(context, message), ...nonceWire(message) } };
    },
  },
  {
    method: "GET",
    path: "/channels/:channel/messages/:message",
    auth: "bot",
    handle: (context) => {
      const channel = getVisibleChannel(context);
      const permissions = context.world.permissions(context.botId, channel);
      if (!has(permissions, Permission.readMessageHistory)) throw refuse(50001);
      return { status: 200, body: toWire(context, getMessage(context)) };
    },
  },
  {
    method: "PATCH",
    path: "/channels/:channel/messages/:message",
    auth: "bot",
    handle: (context) => {
      const channel = getVisibleChannel(context);
      const message = getMessage(context);
      const patch = parse(context, messageEditSchema);
      if (message.author_id !== context.botId) {
        // Of other people's messages only the embeds can be hidden, with MANAGE_MESSAGES.
        const { flags, ...rest } = patch;
        const isFlagsOnly = flags != null && Object.values(rest).every((value) => value === undefined);
        if (!isFlagsOnly) throw refuse(50005);
        if (!has(context.world.permissions(context.botId, channel), Permission.manageMessages)) {
          throw refuse(50013);
        }
        message.flags = (message.flags & ~MessageFlag.suppressEmbeds) | (flags & MessageFlag.suppressEmbeds);
        message.rev = context.world.nextRev();
        context.world.emit({ type: "message-update", message });
        return { status: 200, body: toWire(context, message) };
      }
      if (![0, 19, 20, 23].includes(message.type)) throw refuse(50021);
      if (isThread(channel) && channel.thread_metadata.archived) throw refuse(50083);
      checkOldEdit(context, message);
      editMessage(context.world, message, { userId: context.botId, patch, files: context.files });
      return { status: 200, body: toWire(context, message) };
    },
  },
  {
    method: "DELETE",
    path: "/channels/:channel/messages/:message",
    auth: "bot",
    handle: (context) => {
      getVisibleChannel(context);
      deleteMessage(context.world, getMessage(context), context.botId);
      return { status: 204 };
    },
  },
  {
    method: "PUT",
    path: REACTION,
    auth: "bot",
    handle: (context) => {
      getVisibleChannel(context);
      addReaction(context.world, getMessage(context), context.botId, context.params["emoji"] ?? "");
      return { status: 204 };
    },
  },
  {
    method: "DELETE",
    path: REACTION,
    auth: "bot",
    handle: (context) => {
      getVisibleChannel(context);
      removeReaction(context.world, getMessage(context), context.botId, context.params["emoji"] ?? "");
      return { status: 204 };
    },
  },
];

function getMessage(context: RouteContext): Message {
  return context.world.getMessage(getId(context, "channel"), getId(context, "message"));
}

/** Without the message content intent the REST answers are blanked as the gateway's are. */
function toWire(context: RouteContext, message: Message): Wire {
  return messageWire(context.world, message, {
    userId: context.botId,
    mayReadContent: context.world.switches.isMessageContentGranted,
  });
}

/** Edits of messages older than an hour have a small hidden budget per channel: 429 with code 30046. */
function checkOldEdit(context: RouteContext, message: Message): void {
  const { ageMs, ...limit } = context.world.limits.oldMessageEdits;
  if (context.world.now() - snowflakeTime(message.id) <= ageMs) return;
  const waitMs = context.limiter.takeHidden(`old edits ${message.channel_id}`, limit);
  if (waitMs === undefined) return;
  throw rateLimited({ scope: "user", retryAfterMs: waitMs, code: 30046, message: refuse(30046).message });
}
