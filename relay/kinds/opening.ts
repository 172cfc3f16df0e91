/** What the kinds share when they open a thread. */
import type { Thread } from "../../shared/api.ts";
import type { Content } from "../content/content.ts";
import type { DeliveryPlace } from "../delivery/delivery-mark.ts";
import { ThreadDelivery } from "../delivery/thread-delivery.ts";
import { compareIds, snowflakeNow } from "../discord/api.ts";
import type { VmThread } from "../sidecar/vm.ts";
import type { LiveThreadOptions, RelayKind } from "./kind.ts";

/** Takes what was read from `offset`, if that is where the delivery goes on and it takes nothing else now. */
export async function accept<Reply>(
  delivery: ThreadDelivery<Reply>,
  reply: Reply | undefined,
  offset: number,
): Promise<boolean> {
  if (!reply || delivery.isAccepting || delivery.offset !== offset) return false;
  await delivery.accept(reply);
  return true;
}

export function basics({ thread }: LiveThreadOptions, kind: RelayKind, vm: VmThread) {
  const { threadId, title, status } = thread;
  return { threadId, kind, title, status, vm, paused: undefined, hasMore: false };
}

/** Where a kind's content is delivered, and how. */
interface Place<Reply> {
  vm: VmThread;
  content: Content<Reply>;
  mark: DeliveryPlace | undefined;
  editIntervalMs?: number;
  /** Each message stays known after it is confirmed. */
  keepsMessages?: boolean;
}

export function openDelivery<Reply>(
  { thread, rows, api, budget, botId, channelId, log, now, waitScale, onRefused }: LiveThreadOptions,
  { vm, content, mark, editIntervalMs, keepsMessages = false }: Place<Reply>,
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
    putMessage: (key, note) =>
      vm.putMessage(key, "messageId" in note ? { ...note, keep: keepsMessages } : note),
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
