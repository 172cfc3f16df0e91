/** Brings Discord and the sidecar together at start and after every new connection to the gateway. */
import { isOpen } from "../../shared/api.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import type { DiscordId, ThreadName } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import type { Log } from "../../shared/log.ts";
import { type ChannelInfo, compareIds, type DiscordApi } from "../discord/api.ts";
import { findRefusal } from "../discord/refusals.ts";
import { channelIdOf, isInDiscord, type Thread, type ThreadInDiscord } from "../sidecar/names.ts";
import type { Vm } from "../sidecar/vm.ts";
import type { Absent, AbsentThreads } from "./absent-threads.ts";
import type { ActiveThreads } from "./active-threads.ts";
import type { AllMessages } from "./all-messages.ts";
import type { Channels } from "./channels.ts";
import { isAsking } from "./ended.ts";
import type { Endings } from "./endings.ts";
import type { Homes } from "./homes.ts";
import type { Inputs } from "./inputs.ts";
import { findPause, type Threads } from "./threads.ts";
import { untilItWorks } from "./until-it-works.ts";

export interface RecoveryOptions {
  api: DiscordApi;
  vm: Vm;
  threads: Threads;
  endings: Endings;
  inputs: Inputs;
  homes: Homes;
  channelMessages: AllMessages;
  channels: Channels;
  absent: AbsentThreads;
  activeThreads: Pick<ActiveThreads, "reset">;
  guildId: string;
  botId: string;
  signal: AbortSignal;
  log: Log;
}

/**
 * Streams every open thread, ends those whose Discord thread is gone, takes what people wrote meanwhile, and closes
 * Discord threads of ours that the sidecar no longer has. What Discord has archived comes back with its next output.
 * It resolves when the threads with an active Discord thread are streamed; whatever needs a request for one thread alone
 * is done after that, in the background.
 */
export async function recover(options: RecoveryOptions): Promise<void> {
  const { api, vm, threads, homes, channelMessages, absent, guildId } = options;
  // First: a Discord thread that the sidecar does not know may be one that a message is still to begin.
  await channelMessages.look();
  const served = new Set<ThreadName>(threads.list().map(({ threadId }) => threadId));
  const listAll = () => Promise.all([vm.listThreads(), vm.listLedgers()]);
  let [open, ledgers] = await listAll();
  const channels = await api.listActiveThreads(guildId);
  options.activeThreads.reset(channels);
  const active = new Map<ThreadName, ChannelInfo>(channels.map((channel) => [channel.id, channel]));
  const known = channels.filter(({ id }) => !channelMessages.isAwaited(id));
  if (await homes.recover(open, known)) [open, ledgers] = await listAll();
  const found = (threadId: ThreadName) => ({
    rows: ledgers[threadId] ?? [],
    wasServed: served.has(threadId),
  });
  await Promise.all(
    open.map((thread) => recoverThread(options, thread, active.get(thread.threadId), found(thread.threadId))),
  );
  // A lost channel's threads can't be looked up; once the channel is back, they are looked up as all others are.
  const isLost = (thread: Thread) => options.channels.find(channelIdOf(thread))?.isLost === true;
  const isAbsent = (thread: Thread): thread is ThreadInDiscord =>
    isInDiscord(thread) && !active.has(thread.threadId) && !isLost(thread);
  absent.lookUp(
    open
      .filter(isAbsent)
      .map((thread) => ({ threadId: thread.threadId, channelIds: mayBeIn(options, thread) })),
    (threadId, channel) => recoverAbsent(options, threadId, channel, found(threadId)),
  );
  const isOpenThread = new Set<ThreadName>(open.map(({ threadId }) => threadId));
  const orphans = [...active.values()].filter(
    (channel) => isOurs(options, channel) && !isOpenThread.has(channel.id) && !threads.has(channel.id),
  );
  await Promise.all(orphans.map((channel) => closeOrphan(options, channel)));
  channelMessages.takeMissed();
}

/** The channels that a thread's Discord thread may be in. */
function mayBeIn({ channels }: RecoveryOptions, thread: Thread): DiscordId[] {
  const known = channelIdOf(thread);
  return known === undefined ? channels.list().map(({ id }) => id) : [known];
}

interface Found {
  rows: readonly LedgerRow[];
  /** Before the thread and its rows were read. */
  wasServed: boolean;
}

async function recoverThread(
  options: RecoveryOptions,
  thread: Thread,
  channel: ChannelInfo | undefined,
  { rows, wasServed }: Found,
): Promise<void> {
  const { threads } = options;
  const { threadId } = thread;
  if (!channel || threads.isBusy(threadId)) return;
  // It has ended since it was read. Served once more from rows of then, it would come back and say things twice.
  if (wasServed && !threads.has(threadId)) return;
  await serve(options, thread, rows, channel);
  takeMissed(options, channel);
}

/** A thread whose Discord thread is not among the active ones. It may have ended while that was looked up. */
async function recoverAbsent(
  options: RecoveryOptions,
  threadId: DiscordId,
  channel: Absent,
  { rows, wasServed }: Found,
): Promise<void> {
  const { vm, threads, endings, log } = options;
  if (threads.isBusy(threadId)) return;
  if (channel === "deleted" && !(await isWithChannel(options, threadId))) {
    log.info({ threadId }, "the Discord thread is gone; ending what runs in it");
    return threads.has(threadId) ? endings.onDiscordThreadDeleted(threadId) : endings.killQuietly(threadId);
  }
  const thread = await findThread(vm, threadId);
  if (!thread || !isOpen(thread.status) || (wasServed && !threads.has(threadId))) return;
  if (typeof channel !== "string") return recoverThread(options, thread, channel, { rows, wasServed });
  log.warn({ threadId, channel }, "Discord does not let the bot see a thread");
  // What is to be shown next is refused as well, and that is told.
  if (!threads.has(threadId)) threads.add(thread, rows);
}

/** Whether a Discord thread is gone because its channel is: then nobody has ended what runs in it. */
async function isWithChannel({ vm, channels }: RecoveryOptions, threadId: DiscordId): Promise<boolean> {
  const thread = await findThread(vm, threadId);
  const channelId = thread && channelIdOf(thread);
  return channelId !== undefined && channels.isGone(channelId);
}

async function serve(
  options: RecoveryOptions,
  thread: Thread,
  rows: readonly LedgerRow[],
  channel: ChannelInfo,
): Promise<void> {
  const { vm, threads, homes, log } = options;
  const { threadId } = thread;
  if (!threads.has(threadId)) {
    const home = thread.home && { ...thread.home, parentId: channel.parentId ?? thread.home.parentId };
    threads.add({ ...thread, ...(home && { home }) }, rows, findPause(channel));
    // The thread's maker did not say in which channel it is.
    if (thread.home?.parentId === null && channel.parentId !== undefined) {
      const known = { channelId: channel.id, parentId: channel.parentId };
      await vm.thread(threadId).putHome(known);
    }
    // Its Discord thread may have been noted a moment before the relay died. Discord may be slow to take the words.
    if (thread.home?.after && thread.delivery === null) {
      homes.begin(thread).catch((error: unknown) => {
        log.warn({ threadId, err: error }, "could not say what a thread begins with");
      });
    }
  }
  threads.noteName(channel);
}

/** In the background: a person's message may have to wait for its process. */
function takeMissed({ threads, inputs, log }: RecoveryOptions, { id: threadId, lastMessageId }: ChannelInfo) {
  const seen = threads.find(threadId)?.delivery.seen ?? threadId;
  if (lastMessageId === undefined || compareIds(lastMessageId, seen) <= 0) return;
  inputs.backfill(threadId, seen).catch((error: unknown) => {
    log.error({ threadId, err: error }, "could not take what was written meanwhile");
  });
}

/** Judges by the thread's creator and by whether it is active; never by its title. */
function isOurs({ botId, channels }: RecoveryOptions, channel: ChannelInfo): boolean {
  const { ownerId, parentId, isArchived } = channel;
  return ownerId === botId && channels.find(parentId) !== undefined && !isArchived;
}

async function closeOrphan(options: RecoveryOptions, channel: ChannelInfo): Promise<void> {
  const { vm, threads, channelMessages } = options;
  const threadId = channel.id;
  if (threads.isBusy(threadId) || channelMessages.isAwaited(threadId)) return;
  const thread = await findThread(vm, threadId);
  if (!thread) return closeVanished(options, threadId);
  // Made since the list was read, or ended while the relay was away: then its last output and its end are shown.
  const { lastMessageId } = channel;
  const rows = await vm.findLedger(threadId);
  if (!isOpen(thread.status) && isAsking(rows, lastMessageId)) return;
  if (!threads.has(threadId)) threads.add(thread, rows);
  if (kindOf(thread).hasTurns) takeMissed(options, channel);
}

/** In the background: Discord may take its time, or refuse, for this one thread. */
function closeVanished({ threads, endings, signal, log }: RecoveryOptions, threadId: DiscordId): void {
  const what = "close a Discord thread that the sidecar does not know";
  const findProblem = (error: unknown) => (findRefusal(error) === undefined ? undefined : errorText(error));
  threads.setBusy(threadId, true);
  untilItWorks({ what, log, signal, findProblem }, () => endings.closeVanished(threadId))
    .catch((error: unknown) => log.warn({ threadId, err: error }, `could not ${what}`))
    .finally(() => threads.setBusy(threadId, false));
}

async function findThread(vm: Vm, threadId: DiscordId): Promise<Thread | undefined> {
  try {
    return await vm.thread(threadId).get();
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return undefined;
    throw error;
  }
}
