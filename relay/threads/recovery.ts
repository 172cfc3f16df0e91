/** Brings Discord and the sidecar together at start and after every new connection to the gateway. */
import { isOpen, type Thread } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { type ChannelInfo, compareIds, type DiscordApi } from "../discord/api.ts";
import type { Inputs } from "./inputs.ts";
import { findPause, type Sessions } from "./threads.ts";

export interface RecoveryOptions {
  api: DiscordApi;
  client: SidecarClient;
  sessions: Sessions;
  inputs: Inputs;
  channelId: string;
  guildId: string;
  botId: string;
  log: Log;
}

/** What has no Discord id was made through the API for somebody else: it has no Discord thread to lose. */
const SNOWFLAKE = /^\d{17,20}$/;

/**
 * Streams every open thread, un-archives those that need it, ends those whose Discord thread is gone, takes what
 * people wrote meanwhile, and closes Discord threads of ours that the sidecar no longer has. Two requests, and
 * more only for threads where something has happened.
 */
export async function recover(options: RecoveryOptions): Promise<void> {
  const { api, client, sessions, guildId } = options;
  const threads = await client.listThreads();
  const active = new Map((await api.listActiveThreads(guildId)).map((channel) => [channel.id, channel]));
  await Promise.all(threads.map((thread) => recoverThread(options, thread, active.get(thread.threadId))));
  const open = new Set(threads.map((thread) => thread.threadId));
  const orphans = [...active.values()].filter((channel) => isOurs(options, channel) && !open.has(channel.id));
  await Promise.all(
    orphans.map((channel) => (sessions.has(channel.id) ? undefined : closeOrphan(options, channel))),
  );
}

async function recoverThread(
  options: RecoveryOptions,
  thread: Thread,
  active: ChannelInfo | undefined,
): Promise<void> {
  const { api, sessions, inputs, log } = options;
  const { threadId } = thread;
  if (sessions.isBusy(threadId) || !SNOWFLAKE.test(threadId)) return;
  const channel = active ?? (await api.findChannel(threadId));
  if (!channel) {
    log.info({ threadId }, "the Discord thread is gone; ending its session");
    return sessions.has(threadId)
      ? sessions.onDiscordThreadDeleted(threadId)
      : sessions.killQuietly(threadId);
  }
  const paused = findPause(channel);
  if (channel.isArchived && paused === undefined) await api.setArchived(threadId, false);
  if (!sessions.has(threadId)) sessions.add(thread, channel.lastMessageId, paused);
  sessions.noteName(channel);
  const seen = sessions.findStream(threadId)?.seen ?? threadId;
  if (channel.lastMessageId !== undefined && compareIds(channel.lastMessageId, seen) > 0) {
    // In the background: a person's message may have to wait for its process.
    inputs.backfill(threadId, seen).catch((error: unknown) => {
      log.error({ threadId, err: error }, "could not take what was written meanwhile");
    });
  }
}

/** By its creator and by being active; never by its title. */
function isOurs({ botId, channelId }: RecoveryOptions, channel: ChannelInfo): boolean {
  return channel.ownerId === botId && channel.parentId === channelId && !channel.isArchived;
}

async function closeOrphan({ client, sessions }: RecoveryOptions, channel: ChannelInfo): Promise<void> {
  const threadId = channel.id;
  if (sessions.isBusy(threadId)) return;
  let thread: Thread;
  try {
    thread = await client.getThread(threadId);
  } catch (error) {
    if (!(error instanceof AppError && error.code === "not_found")) throw error;
    await sessions.tell(
      threadId,
      "⚠️ This session does not exist on the VM any more, so its thread is closed.",
    );
    await sessions.archive(threadId);
    return;
  }
  // Made since the list was read, or ended while the relay was away: then its last output and its end are shown.
  if (!sessions.has(threadId))
    sessions.add(thread, isOpen(thread.status) ? undefined : channel.lastMessageId);
}
