/** Brings Discord and the sidecar together at start and after every new connection to the gateway. */
import { isOpen, type Thread } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import type { Log } from "../../shared/log.ts";
import { type ChannelInfo, compareIds, type DiscordApi } from "../discord/api.ts";
import type { ChannelMessages } from "./channel-messages.ts";
import { isAsking } from "./ended.ts";
import type { Endings } from "./endings.ts";
import type { Homes } from "./homes.ts";
import type { Inputs } from "./inputs.ts";
import { loadLedger } from "./live-thread.ts";
import { findPause, type Threads } from "./threads.ts";
import type { Vm } from "./vm.ts";

export interface RecoveryOptions {
  api: DiscordApi;
  vm: Vm;
  threads: Threads;
  endings: Endings;
  inputs: Inputs;
  homes: Homes;
  channelMessages: ChannelMessages;
  channelId: string;
  guildId: string;
  botId: string;
  log: Log;
}

/** What has no Discord id was made through the API for somebody else: it has no Discord thread to lose. */
const SNOWFLAKE = /^\d{17,20}$/;

/**
 * Streams every open thread, un-archives those that need it, ends those whose Discord thread is gone, takes what
 * people wrote meanwhile, and closes Discord threads of ours that the sidecar no longer has. One request to Discord, and
 * more only for threads where something has happened.
 */
export async function recover(options: RecoveryOptions): Promise<void> {
  const { api, vm, threads, homes, channelMessages, guildId } = options;
  // First: a Discord thread that the sidecar does not know may be one that a message is still to begin.
  await channelMessages.look();
  const served = new Set(threads.list().map(({ threadId }) => threadId));
  const listAll = () => Promise.all([vm.listThreads(), vm.listLedgers()]);
  let [open, ledgers] = await listAll();
  const channels = await api.listActiveThreads(guildId);
  const active = new Map(channels.map((channel) => [channel.id, channel]));
  const known = channels.filter(({ id }) => !channelMessages.isAwaited(id));
  if (await homes.recover(open, known)) [open, ledgers] = await listAll();
  await Promise.all(
    open.map((thread) => {
      const { threadId } = thread;
      const found = { rows: ledgers[threadId] ?? [], active: active.get(threadId) };
      return recoverThread(options, thread, { ...found, wasServed: served.has(threadId) });
    }),
  );
  const isOpenThread = new Set(open.map(({ threadId }) => threadId));
  const orphans = [...active.values()].filter(
    (channel) => isOurs(options, channel) && !isOpenThread.has(channel.id) && !threads.has(channel.id),
  );
  await Promise.all(orphans.map((channel) => closeOrphan(options, channel)));
  channelMessages.takeMissed();
}

interface Found {
  rows: readonly LedgerRow[];
  active: ChannelInfo | undefined;
  /** Before the thread and its rows were read. */
  wasServed: boolean;
}

async function recoverThread(
  options: RecoveryOptions,
  thread: Thread,
  { rows, active, wasServed }: Found,
): Promise<void> {
  const { api, threads, endings, log } = options;
  const { threadId } = thread;
  if (threads.isBusy(threadId) || !SNOWFLAKE.test(threadId)) return;
  const channel = active ?? (await api.findChannel(threadId));
  if (!channel) {
    log.info({ threadId }, "the Discord thread is gone; ending what runs in it");
    return threads.has(threadId) ? endings.onDiscordThreadDeleted(threadId) : endings.killQuietly(threadId);
  }
  // It has ended since it was read. Served once more from rows of then, it would come back and say things twice.
  if (wasServed && !threads.has(threadId)) return;
  const paused = findPause(channel);
  if (channel.isArchived && paused === undefined) await api.setArchived(threadId, false);
  if (!threads.has(threadId)) {
    const ledger = await loadLedger(options, thread, rows, channel.lastMessageId);
    if (!threads.has(threadId)) threads.add(thread, ledger, paused);
    // Its Discord thread may have been noted a moment before the relay died.
    if (thread.home && thread.delivery === null) await options.homes.begin(thread);
  }
  threads.noteName(channel);
  takeMissed(options, channel);
}

/** In the background: a person's message may have to wait for its process. */
function takeMissed({ threads, inputs, log }: RecoveryOptions, { id: threadId, lastMessageId }: ChannelInfo) {
  const seen = threads.find(threadId)?.delivery.seen ?? threadId;
  if (lastMessageId === undefined || compareIds(lastMessageId, seen) <= 0) return;
  inputs.backfill(threadId, seen).catch((error: unknown) => {
    log.error({ threadId, err: error }, "could not take what was written meanwhile");
  });
}

/** By its creator and by being active; never by its title. */
function isOurs({ botId, channelId }: RecoveryOptions, channel: ChannelInfo): boolean {
  return channel.ownerId === botId && channel.parentId === channelId && !channel.isArchived;
}

async function closeOrphan(options: RecoveryOptions, channel: ChannelInfo): Promise<void> {
  const { vm, threads, endings, channelMessages } = options;
  const threadId = channel.id;
  if (threads.isBusy(threadId) || channelMessages.isAwaited(threadId)) return;
  let thread: Thread;
  try {
    thread = await vm.thread(threadId).get();
  } catch (error) {
    if (!(error instanceof AppError && error.code === "not_found")) throw error;
    return endings.closeVanished(threadId);
  }
  // Made since the list was read, or ended while the relay was away: then its last output and its end are shown.
  const { lastMessageId } = channel;
  const rows = await vm.findLedger(threadId);
  if (!isOpen(thread.status) && isAsking(rows, lastMessageId)) return;
  const older = isOpen(thread.status) ? rows : await loadLedger(options, thread, rows, lastMessageId);
  if (!threads.has(threadId)) threads.add(thread, older);
  if (thread.type === "agent") takeMissed(options, channel);
}
