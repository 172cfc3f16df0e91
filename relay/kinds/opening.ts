/** What the kinds share when they open a thread. */
import type { OutputsReply } from "../../shared/api.ts";
import type { Content } from "../content/content.ts";
import type { DeliveryPlace } from "../delivery/delivery-mark.ts";
import { ThreadDelivery } from "../delivery/thread-delivery.ts";
import { compareIds, type OutgoingFile, snowflakeNow } from "../discord/api.ts";
import { channelIdOf, type Thread, type ThreadInDiscord } from "../sidecar/names.ts";
import type { Source, VmThread } from "../sidecar/vm.ts";
import type { LiveThread, LiveThreadOptions, News, RelayKind } from "./kind.ts";

/** How a kind shows a thread. */
interface Shown<Reply> {
  kind: RelayKind;
  vm: VmThread;
  content: Content<Reply> & { setEndSilent(isSilent: boolean): void };
  mark: DeliveryPlace | undefined;
  source: Source;
  /** The thread's own part of a reply for many threads. */
  find(replies: OutputsReply): (Reply & News) | undefined;
  editIntervalMs?: number;
  /** Each message stays known after it is confirmed. */
  keepsMessages?: boolean;
  /** Reads a file that a message brings; by default it reads an attachment of the thread. */
  readFile?: (name: string) => Promise<OutgoingFile | undefined>;
  /** Told before a key of a person's goes in. */
  onKey?: () => void;
}

/** The thread with its delivery. */
export function openShown<Reply>(options: LiveThreadOptions, shown: Shown<Reply>): LiveThread {
  const { threadId, title, status } = options.thread;
  const { kind, vm, content, source, find, onKey } = shown;
  const delivery = openDelivery(options, shown);
  return {
    ...{ threadId, channelId: channelIdOf(options.thread), kind, title, status, vm, delivery, source, find },
    ...{ paused: undefined, hasMore: false },
    accept: async (replies, offset) => {
      const reply = find(replies);
      if (!reply || delivery.isAccepting || delivery.offset !== offset) return false;
      await delivery.accept(reply);
      return true;
    },
    pressKey: async (key, userId) => {
      onKey?.();
      await vm.as(userId).send({ key });
    },
    setEndSilent: (isSilent) => content.setEndSilent(isSilent),
  };
}

function openDelivery<Reply>(
  { thread, rows, ownerOf, api, budget, botId, log, now, waitScale, onRefused }: LiveThreadOptions,
  { vm, content, mark, editIntervalMs, keepsMessages = false, readFile }: Shown<Reply>,
): ThreadDelivery<Reply> {
  const { threadId } = thread;
  return new ThreadDelivery<Reply>({
    threadId,
    parentId: channelIdOf(thread),
    content,
    rows,
    seen: mark?.seen ?? beginningOf(thread),
    gone: mark?.gone,
    isReused: isHeir(thread),
    ...(editIntervalMs === undefined ? {} : { editIntervalMs }),
    owner: () => ownerOf(thread.createdBy),
    putMark: (kept) => vm.putMark({ ...kept }),
    putMessage: (key, note) =>
      vm.putMessage(key, "messageId" in note ? { ...note, keep: keepsMessages } : note),
    readFile: readFile ?? ((name) => vm.findAttachment(name)),
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
function isHeir({ ownId, origin }: Thread): boolean {
  return origin?.threadId === ownId;
}

/**
 * What was written before an heir was made was not written to it. Only there the VM's clock is compared with
 * Discord's: if they differ, messages would be missed.
 */
function beginningOf(thread: ThreadInDiscord): string {
  const { threadId, createdAt } = thread;
  if (!isHeir(thread)) return threadId;
  const made = snowflakeNow(Date.parse(createdAt));
  return compareIds(made, threadId) > 0 ? made : threadId;
}
