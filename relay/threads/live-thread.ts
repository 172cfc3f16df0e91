/** A thread that the relay serves: its handle, its content, its delivery, and what is known of it. */
import type { LedgerRow, OutputReply, Thread, ThreadStatus, ThreadType } from "../../shared/api.ts";
import type { Log } from "../../shared/log.ts";
import { LogContent } from "../content/log-content.ts";
import type { LogMark } from "../content/log-mark.ts";
import { findDeliveryMark } from "../delivery/delivery-mark.ts";
import { findOlderMark, findOlderRows, toDeliveryMark } from "../delivery/older-mark.ts";
import { ThreadDelivery } from "../delivery/thread-delivery.ts";
import type { DiscordApi } from "../discord/api.ts";
import type { Budget } from "../discord/budget.ts";
import type { Refusal } from "../discord/refusals.ts";
import type { Vm, VmThread } from "./vm.ts";

export interface LiveThread {
  readonly threadId: string;
  readonly type: ThreadType;
  readonly vm: VmThread;
  readonly content: LogContent;
  readonly delivery: ThreadDelivery<OutputReply>;
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
  /** Its ledger, as {@link loadLedger} gives it. */
  rows: readonly LedgerRow[];
  vm: Vm;
  api: DiscordApi;
  budget: Budget;
  botId: string;
  isAnsi: boolean;
  log: Log;
  now: () => number;
  onRefused: (refusal: Refusal) => void;
}

export function openThread(options: LiveThreadOptions): LiveThread {
  const { thread, rows, api, budget, botId, now, onRefused } = options;
  const { threadId, type, title, status } = thread;
  const vm = options.vm.thread(threadId);
  const log = options.log.child({ threadId });
  const older = findOlderMark(thread.delivery);
  const mark = older ? toDeliveryMark(older) : findDeliveryMark(thread.delivery);
  const content = openContent({ ...options, log }, vm, mark);
  const delivery = new ThreadDelivery<OutputReply>({
    threadId,
    content,
    rows,
    seen: mark?.seen ?? threadId,
    owner: thread.createdBy,
    putMark: (kept) => vm.putMark({ ...kept }),
    putMessage: (key, note) => vm.putMessage(key, note),
    api,
    budget,
    botId,
    log,
    now,
    onRefused,
  });
  return { threadId, type, vm, content, delivery, title, status, paused: undefined, hasMore: false };
}

/**
 * The rows of a thread's ledger. The threads of a relay that had none get theirs here, once: that needs a look at
 * Discord only if there are messages that their mark does not know.
 */
export async function loadLedger(
  { vm, api, botId }: Pick<LiveThreadOptions, "vm" | "api" | "botId">,
  thread: Thread,
  rows: readonly LedgerRow[],
  lastMessageId: string | undefined,
): Promise<readonly LedgerRow[]> {
  const { threadId, delivery } = thread;
  const mark = findOlderMark(delivery);
  if (!mark) return rows;
  const older = await findOlderRows({ threadId, mark, lastMessageId, api, botId });
  const missing = older.filter(({ key }) => !rows.some((row) => row.key === key));
  for (const { key, messageId } of missing) {
    if (messageId !== null) await vm.thread(threadId).putMessage(key, { messageId });
  }
  return [...rows, ...missing];
}

/** Goes on from the mark; from the log's start if there is none, or if it is of another version. */
function openContent(
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
