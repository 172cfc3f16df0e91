/** What happens to threads: made, renamed, archived by hand or by the clock, locked, joined, deleted. */
import { forget } from "./channels.ts";
import { invalidForm, refuse } from "./discord-error.ts";
import { postSystemMessage } from "./message-store.ts";
import { has, Permission } from "./permissions.ts";
import { snowflakeTime } from "./snowflake.ts";
import type { World } from "./state.ts";
import {
  type Channel,
  ChannelType,
  isThread,
  type Message,
  MessageFlag,
  MessageType,
  type Snowflake,
  type Thread,
} from "./types.ts";
import type { ChannelPatch, ThreadInput } from "./validate.ts";
import { canView } from "./wire.ts";

const DEFAULT_AUTO_ARCHIVE_MINUTES = 4320;

/**
 * Makes a thread, from a message when one is given (then both have the same id).
 * @throws DiscordError 50001, 50013, 50024, 160004, 160006
 */
export function createThread(
  world: World,
  input: { userId: Snowflake; parent: Channel; body: ThreadInput; source?: Message },
): Thread {
  const { userId, parent, body, source } = input;
  if (isThread(parent)) throw refuse(50024);
  // Discord makes a private thread if no type is said; there are none here, so that it must be said.
  const isAnnouncement = parent.type === ChannelType.announcement;
  const type = isAnnouncement ? ChannelType.announcementThread : ChannelType.publicThread;
  if (!source && body.type !== type) {
    throw invalidForm(["type"], "BASE_TYPE_CHOICES", `Value must be one of (${type}).`);
  }
  const permissions = world.permissions(userId, parent);
  if (!has(permissions, Permission.viewChannel)) throw refuse(50001);
  if (!has(permissions, Permission.createPublicThreads)) throw refuse(50013);
  if (source && (source.flags & MessageFlag.hasThread) !== 0) throw refuse(160004);
  checkActiveCap(world);

  const at = world.isoNow();
  const thread: Thread = {
    id: source?.id ?? world.nextId(),
    type,
    name: body.name,
    parent_id: parent.id,
    owner_id: userId,
    thread_metadata: {
      archived: false,
      archive_timestamp: at,
      auto_archive_duration: body.auto_archive_duration ?? DEFAULT_AUTO_ARCHIVE_MINUTES,
      locked: false,
      create_timestamp: at,
    },
    message_count: 0,
    total_message_sent: 0,
    last_message_id: null,
    rate_limit_per_user: body.rate_limit_per_user ?? 0,
    members: [{ user_id: userId, join_timestamp: at }],
  };
  world.data.channels.set(thread.id, thread);
  world.emit({ type: "thread-create", thread, isNew: true });
  if (source) {
    source.flags |= MessageFlag.hasThread;
    source.rev = world.nextRev();
    world.emit({ type: "message-update", message: source });
    postSystemMessage(world, thread, {
      type: MessageType.threadStarter,
      authorId: userId,
      content: "",
      reference: { message_id: source.id, channel_id: parent.id },
    });
  } else {
    // "… started a thread" in the parent.
    postSystemMessage(world, parent, {
      type: MessageType.threadCreated,
      authorId: userId,
      content: thread.name,
      reference: { channel_id: thread.id },
    });
  }
  return thread;
}

/**
 * PATCH of a thread, with who may change what.
 * @throws DiscordError 50013, 50083 (archived and not being unarchived), 160005, 160006
 */
export function patchThread(world: World, thread: Thread, userId: Snowflake, patch: ChannelPatch): void {
  const meta = thread.thread_metadata;
  const permissions = world.permissions(userId, thread);
  if (!canView(world, userId, thread)) throw refuse(50001);
  const mayManage = has(permissions, Permission.manageThreads);
  const isOwner = thread.owner_id === userId;

  // An archived thread takes a PATCH only when it is the one that brings it back.
  if (meta.archived && patch.archived !== false) throw refuse(50083);
  if (meta.locked && !mayManage) throw refuse(160005);
  const isLockChange = patch.locked !== undefined && patch.locked !== meta.locked;
  if ((isLockChange || patch.rate_limit_per_user != null) && !mayManage) throw refuse(50013);
  const isOwnersChange =
    patch.name !== undefined || patch.archived === true || patch.auto_archive_duration !== undefined;
  if (isOwnersChange && !mayManage && !isOwner) throw refuse(50013);
  if (patch.archived === false && !mayManage && !has(permissions, Permission.sendMessagesInThreads)) {
    throw refuse(50013);
  }
  if (patch.archived === false && meta.archived) checkActiveCap(world);

  const oldName = thread.name;
  const wasArchived = meta.archived;
  let movesTimestamp = false;
  if (patch.name !== undefined) thread.name = patch.name;
  if (patch.locked !== undefined) meta.locked = patch.locked;
  if (patch.rate_limit_per_user != null) thread.rate_limit_per_user = patch.rate_limit_per_user;
  if (
    patch.auto_archive_duration !== undefined &&
    patch.auto_archive_duration !== meta.auto_archive_duration
  ) {
    meta.auto_archive_duration = patch.auto_archive_duration;
    movesTimestamp = true;
  }
  if (patch.archived !== undefined && patch.archived !== meta.archived) {
    meta.archived = patch.archived;
    movesTimestamp = true;
  }
  if (movesTimestamp) meta.archive_timestamp = world.isoNow();
  world.emit({ type: "thread-update", thread });
  if (wasArchived && !meta.archived) emitMemberUpdates(world, thread);
  if (thread.name !== oldName) {
    postSystemMessage(world, thread, {
      type: MessageType.channelNameChange,
      authorId: userId,
      content: thread.name,
    });
  }
}

/** Brings an archived thread back because somebody writes in it: THREAD_UPDATE, then THREAD_MEMBER_UPDATE. */
export function unarchiveForMessage(world: World, thread: Thread): void {
  checkActiveCap(world);
  thread.thread_metadata.archived = false;
  thread.thread_metadata.archive_timestamp = world.isoNow();
  world.emit({ type: "thread-update", thread });
  emitMemberUpdates(world, thread);
}

/** @throws DiscordError 50001, 50013 */
export function deleteThread(world: World, thread: Thread, userId: Snowflake): void {
  const permissions = world.permissions(userId, thread);
  if (!has(permissions, Permission.viewChannel)) throw refuse(50001);
  if (!has(permissions, Permission.manageThreads)) throw refuse(50013);
  forget(world, thread.id);
  world.emit({ type: "thread-delete", thread });
}

/** Adds a member; nothing happens when they are one. */
export function joinThread(world: World, thread: Thread, userId: Snowflake): void {
  if (thread.members.some((member) => member.user_id === userId)) return;
  thread.members.push({ user_id: userId, join_timestamp: world.isoNow() });
  world.emit({ type: "thread-members-update", thread, added: [userId], removed: [] });
}

export function leaveThread(world: World, thread: Thread, userId: Snowflake): void {
  const index = thread.members.findIndex((member) => member.user_id === userId);
  if (index < 0) return;
  thread.members.splice(index, 1);
  world.emit({ type: "thread-members-update", thread, added: [], removed: [userId] });
}

/**
 * Archives what has been quiet for its duration. A message, an unarchive and a change of the duration are
 * activity; an edit is not, so a thread that is only edited goes quiet under its bot.
 */
export function archiveIdleThreads(world: World): void {
  const now = world.now();
  for (const thread of world.threads()) {
    const meta = thread.thread_metadata;
    if (meta.archived) continue;
    const lastMessageAt = thread.last_message_id === null ? 0 : snowflakeTime(thread.last_message_id);
    const activeAt = Math.max(Date.parse(meta.archive_timestamp), lastMessageAt);
    if (now - activeAt < meta.auto_archive_duration * 60_000) continue;
    meta.archived = true;
    meta.archive_timestamp = world.isoNow();
    world.emit({ type: "thread-update", thread });
  }
}

function checkActiveCap(world: World): void {
  const active = world.threads().filter((thread) => !thread.thread_metadata.archived).length;
  if (active >= world.limits.activeThreads) throw refuse(160006);
}

function emitMemberUpdates(world: World, thread: Thread): void {
  for (const member of thread.members) {
    world.emit({ type: "thread-member-update", thread, userId: member.user_id });
  }
}
