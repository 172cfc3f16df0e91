/** A thread that the relay serves: its handle, its content, its delivery, and what is known of it. */
import type { TranscriptReply } from "../../shared/agent/api.ts";
import type { OutputReply, OutputsReply, Thread, ThreadStatus, ThreadType } from "../../shared/api.ts";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import type { Log } from "../../shared/log.ts";
import type { Content } from "../content/content.ts";
import { LogContent } from "../content/log-content.ts";
import type { LogMark } from "../content/log-mark.ts";
import { TranscriptContent } from "../content/transcript/content.ts";
import { type DeliveryPlace, findDeliveryMark } from "../delivery/delivery-mark.ts";
import { ThreadDelivery } from "../delivery/thread-delivery.ts";
import type { DiscordApi } from "../discord/api.ts";
import { compareIds, isUserId, snowflakeNow } from "../discord/api.ts";
import type { Budget } from "../discord/budget.ts";
import type { Refusal } from "../discord/refusals.ts";
import type { Source, Vm, VmThread } from "../sidecar/vm.ts";

/** What others do with a delivery, whatever it delivers. */
export type Delivery = Omit<ThreadDelivery<never>, "accept">;

/** A part of the sidecar's reply, of either kind. */
export interface News {
  readonly status: ThreadStatus;
  /** There is more to read at once. */
  readonly more: boolean;
}

export interface LiveThread {
  readonly threadId: string;
  readonly type: ThreadType;
  readonly vm: VmThread;
  readonly delivery: Delivery;
  /** What of it is read: a terminal's log, an agent's transcript. */
  readonly source: Source;
  /** Its own part of a reply for many threads; undefined if the sidecar has no such thread. */
  find(replies: OutputsReply): News | undefined;
  /**
   * Takes that part, if it was read from where the content goes on and nothing else is being taken: of two who read
   * side by side (the poller, and whoever ends the thread) one comes first.
   * @param offset from where it was read.
   * @returns whether it was taken.
   */
  accept(replies: OutputsReply, offset: number): Promise<boolean>;
  /** A person presses a key, by tmux's name. @throws AppError */
  pressKey(key: string): Promise<void>;
  /** True while somebody ends the thread, who tells it themselves. */
  setEndSilent(isSilent: boolean): void;
  /** The name that the sidecar has. */
  title: string;
  /** The status that the sidecar told last. */
  status: ThreadStatus;
  /** Why nothing is streamed now; undefined while all is well. */
  paused: string | undefined;
  /** There was more to read last time. */
  hasMore: boolean;
}

export interface LiveThreadOptions {
  thread: Thread;
  /** Its ledger. */
  rows: readonly LedgerRow[];
  vm: Vm;
  api: DiscordApi;
  budget: Budget;
  botId: string;
  /** The bot's channel. */
  channelId?: string;
  isAnsi: boolean;
  log: Log;
  now: () => number;
  waitScale?: number | undefined;
  onRefused: (refusal: Refusal) => void;
}

/** Steps come in bunches: at this pace a turn of a minute takes some 35 edits, and each step is seen within 2 s. */
export const AGENT_EDIT_MS = 1_800;

export function openThread(options: LiveThreadOptions): LiveThread {
  return options.thread.type === "agent" ? openAgent(options) : openTerminal(options);
}

function openTerminal(options: LiveThreadOptions): LiveThread {
  const { thread } = options;
  const { threadId } = thread;
  const vm = options.vm.thread(threadId);
  const log = options.log.child({ threadId });
  const mark = findDeliveryMark(thread.delivery);
  const content = openLog({ ...options, log }, vm, mark?.kind === "log" ? mark : undefined);
  const delivery = openDelivery<OutputReply>({ ...options, log }, vm, content, mark);
  return {
    ...basics(options, vm),
    delivery,
    source: "since",
    find: ({ threads }) => threads[threadId],
    accept: ({ threads }, offset) => accept(delivery, threads[threadId], offset),
    pressKey: async (key) => {
      content.noteKey(options.now());
      await vm.send({ key });
    },
    setEndSilent: (isSilent) => content.setEndSilent(isSilent),
  };
}

/** Its transcript says all that there is to say: the terminal, in which its runner works, is not shown. */
function openAgent(options: LiveThreadOptions): LiveThread {
  const { thread } = options;
  const { threadId, createdBy } = thread;
  const vm = options.vm.thread(threadId);
  const log = options.log.child({ threadId });
  const mark = findDeliveryMark(thread.delivery);
  const content = new TranscriptContent({
    starter: isUserId(createdBy) ? createdBy : undefined,
    where: thread.dir,
    mark: mark?.kind === "transcript" ? mark : undefined,
  });
  const delivery = openDelivery<TranscriptReply>({ ...options, log }, vm, content, mark, AGENT_EDIT_MS);
  return {
    ...basics(options, vm),
    delivery,
    source: "transcripts",
    find: ({ transcripts }) => transcripts[threadId],
    accept: ({ transcripts }, offset) => accept(delivery, transcripts[threadId], offset),
    pressKey: async (key) => {
      await vm.send({ key });
    },
    setEndSilent: (isSilent) => content.setEndSilent(isSilent),
  };
}

async function accept<Reply>(
  delivery: ThreadDelivery<Reply>,
  reply: Reply | undefined,
  offset: number,
): Promise<boolean> {
  if (!reply || delivery.isAccepting || delivery.offset !== offset) return false;
  await delivery.accept(reply);
  return true;
}

function basics({ thread }: LiveThreadOptions, vm: VmThread) {
  const { threadId, type, title, status } = thread;
  return { threadId, type, title, status, vm, paused: undefined, hasMore: false };
}

function openDelivery<Reply>(
  { thread, rows, api, budget, botId, channelId, log, now, waitScale, onRefused }: LiveThreadOptions,
  vm: VmThread,
  content: Content<Reply>,
  mark: DeliveryPlace | undefined,
  editIntervalMs?: number,
): ThreadDelivery<Reply> {
  const { threadId } = thread;
  return new ThreadDelivery<Reply>({
    threadId,
    parentId: channelId,
    content,
    rows,
    seen: mark?.seen ?? beginningOf(thread),
    gone: mark?.gone,
    isReused: isHeir(thread),
    ...(editIntervalMs === undefined ? {} : { editIntervalMs }),
    owner: thread.createdBy,
    putMark: (kept) => vm.putMark({ ...kept }),
    // What people may ask about later is known by its message.
    putMessage: (key, note) =>
      vm.putMessage(key, "messageId" in note ? { ...note, keep: thread.type === "agent" } : note),
    readFile: (name) => vm.findAttachment(name),
    api,
    budget,
    botId,
    log,
    now,
    waitScale,
    onRefused,
  });
}

/** Whether it goes on in the Discord thread of the one that it knows. */
function isHeir({ threadId, origin }: Thread): boolean {
  return origin?.threadId === threadId;
}

/**
 * What was written before an heir was made was not written to it. Only there the VM's clock is compared with
 * Discord's: if they differ, messages would be missed.
 */
function beginningOf(thread: Thread): string {
  const { threadId, createdAt } = thread;
  if (!isHeir(thread)) return threadId;
  const made = snowflakeNow(Date.parse(createdAt));
  return compareIds(made, threadId) > 0 ? made : threadId;
}

/** Goes on from the mark; from the log's start if there is none, or if it is of another version. */
function openLog(
  { thread, rows, isAnsi, log }: LiveThreadOptions,
  vm: VmThread,
  mark: LogMark | undefined,
): LogContent {
  const options = { thread, isAnsi, keys: rows.map(({ key }) => key), getThread: () => vm.get() };
  try {
    return new LogContent({ ...options, mark });
  } catch (error) {
    if (mark === undefined) throw error;
    log.warn({ err: error }, "the mark cannot be read; starting over");
    return new LogContent({ ...options, mark: undefined });
  }
}
