/** REST: channels, threads, thread members, thread lists. */
import { deleteChannel } from "./channels.ts";
import { invalidForm, rateLimited, refuse } from "./discord-error.ts";
import { has, Permission } from "./permissions.ts";
import { getId, getLimit, getVisibleChannel, parse, type Route, type RouteContext } from "./route.ts";
import { compareIds } from "./snowflake.ts";
import { createThread, deleteThread, joinThread, leaveThread, patchThread } from "./threads.ts";
import { type Channel, isThread, type Snowflake, type TextChannel, type Thread } from "./types.ts";
import { startTyping } from "./typing.ts";
import { type ChannelPatch, channelPatchSchema, threadCreateSchema } from "./validate.ts";
import { canView, channelWire, threadMemberWire, type Wire } from "./wire.ts";

export const channelRoutes: Route[] = [
  {
    method: "GET",
    path: "/channels/:channel",
    auth: "bot",
    handle: (context) => ({ status: 200, body: toWire(context, getVisibleChannel(context)) }),
  },
  {
    method: "PATCH",
    path: "/channels/:channel",
    auth: "bot",
    handle: (context) => {
      const channel = getVisibleChannel(context);
      const patch = parse(context, channelPatchSchema);
      checkRenames(context, channel, patch);
      if (isThread(channel)) patchThread(context.world, channel, context.botId, patch);
      else patchChannel(context, channel, patch);
      return { status: 200, body: toWire(context, channel) };
    },
  },
  {
    method: "DELETE",
    path: "/channels/:channel",
    auth: "bot",
    handle: (context) => {
      const channel = getVisibleChannel(context);
      const body = toWire(context, channel);
      if (isThread(channel)) deleteThread(context.world, channel, context.botId);
      else deleteTextChannel(context, channel);
      return { status: 200, body };
    },
  },
  {
    method: "POST",
    path: "/channels/:channel/threads",
    auth: "bot",
    handle: (context) => {
      const thread = createThread(context.world, {
        userId: context.botId,
        parent: getVisibleChannel(context),
        body: parse(context, threadCreateSchema),
      });
      return { status: 201, body: toWire(context, thread) };
    },
  },
  {
    method: "POST",
    path: "/channels/:channel/messages/:message/threads",
    auth: "bot",
    handle: (context) => {
      const parent = getVisibleChannel(context);
      const thread = createThread(context.world, {
        userId: context.botId,
        parent,
        body: parse(context, threadCreateSchema),
        source: context.world.getMessage(parent.id, getId(context, "message")),
      });
      return { status: 201, body: toWire(context, thread) };
    },
  },
  {
    method: "GET",
    path: "/channels/:channel/threads/archived/public",
    auth: "bot",
    handle: (context) => archivedList(context),
  },
  {
    method: "GET",
    path: "/guilds/:guild/threads/active",
    auth: "bot",
    handle: (context) => {
      if (getId(context, "guild") !== context.world.data.guildId) throw refuse(10004);
      const threads = context.world
        .threads()
        .filter((thread) => !thread.thread_metadata.archived && canView(context.world, context.botId, thread))
        .sort((a, b) => compareIds(b.id, a.id));
      return {
        status: 200,
        body: { threads: threads.map((t) => toWire(context, t)), members: ownMembers(context, threads) },
      };
    },
  },
  {
    method: "POST",
    path: "/channels/:channel/typing",
    auth: "bot",
    handle: (context) => {
      startTyping(context.world, getVisibleChannel(context), context.botId);
      return { status: 204 };
    },
  },
  {
    method: "GET",
    path: "/channels/:channel/thread-members",
    auth: "bot",
    handle: (context) => {
      const thread = getThread(context);
      return { status: 200, body: thread.members.map((member) => threadMemberWire(thread, member)) };
    },
  },
  ...(["@me", ":user"] as const).flatMap((who): Route[] => [
    {
      method: "PUT",
      path: `/channels/:channel/thread-members/${who}`,
      auth: "bot",
      handle: (context) => changeMember(context, joinThread),
    },
    {
      method: "DELETE",
      path: `/channels/:channel/thread-members/${who}`,
      auth: "bot",
      handle: (context) => changeMember(context, leaveThread),
    },
  ]),
];

function toWire(context: RouteContext, channel: Channel): Wire {
  return channelWire(context.world, channel, context.botId);
}

function getThread(context: RouteContext): Thread {
  const channel = getVisibleChannel(context);
  if (!isThread(channel)) throw refuse(50024);
  return channel;
}

/** Two name or topic changes in ten minutes; the bucket's headers do not show it. */
function checkRenames(context: RouteContext, channel: Channel, patch: ChannelPatch): void {
  if (patch.name === undefined && patch.topic === undefined) return;
  const waitMs = context.limiter.takeHidden(`renames ${channel.id}`, context.world.limits.renames);
  if (waitMs !== undefined) throw rateLimited({ scope: "user", retryAfterMs: waitMs });
}

function patchChannel(context: RouteContext, channel: TextChannel, patch: ChannelPatch): void {
  const permissions = context.world.permissions(context.botId, channel);
  if (!has(permissions, Permission.manageChannels)) throw refuse(50013);
  if (patch.name !== undefined) channel.name = patch.name;
  if (patch.topic !== undefined) channel.topic = patch.topic;
  context.world.emit({ type: "channel-update", channel });
}

function deleteTextChannel({ world, botId }: RouteContext, channel: TextChannel): void {
  if (!has(world.permissions(botId, channel), Permission.manageChannels)) throw refuse(50013);
  deleteChannel(world, channel);
}

function changeMember(
  context: RouteContext,
  change: (world: RouteContext["world"], thread: Thread, userId: Snowflake) => void,
): { status: number } {
  const thread = getThread(context);
  if (thread.thread_metadata.archived) throw refuse(50083);
  const userId = context.params["user"] === undefined ? context.botId : getId(context, "user");
  context.world.getUser(userId);
  change(context.world, thread, userId);
  return { status: 204 };
}

/** Newest archive first; `before` is the archive time of the last one of the page before. */
function archivedList(context: RouteContext): { status: number; body: unknown } {
  const parent = getVisibleChannel(context);
  const limit = getLimit(context, { min: 2, max: 100, usual: 50 });
  const before = context.query.get("before");
  const beforeMs = before === null ? Number.POSITIVE_INFINITY : Date.parse(before);
  if (Number.isNaN(beforeMs)) {
    throw invalidForm(["before"], "DATETIME_TYPE_INVALID", `Could not parse ${before}. Should be ISO8601.`);
  }
  if (!has(context.world.permissions(context.botId, parent), Permission.readMessageHistory)) {
    throw refuse(50001);
  }
  const archiveMs = (thread: Thread) => Date.parse(thread.thread_metadata.archive_timestamp);
  const all = context.world
    .threads()
    .filter((thread) => thread.parent_id === parent.id && thread.thread_metadata.archived)
    .filter((thread) => archiveMs(thread) < beforeMs)
    .sort((a, b) => archiveMs(b) - archiveMs(a) || compareIds(b.id, a.id));
  const page = all.slice(0, limit);
  return {
    status: 200,
    body: {
      threads: page.map((thread) => toWire(context, thread)),
      members: ownMembers(context, page),
      has_more: all.length > page.length,
    },
  };
}

/** The bot's own memberships in the listed threads. */
function ownMembers(context: RouteContext, threads: readonly Thread[]): Wire[] {
  return threads.flatMap((thread) => {
    const own = thread.members.find((member) => member.user_id === context.botId);
    return own ? [threadMemberWire(thread, own)] : [];
  });
}
