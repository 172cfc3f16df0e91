/** What stands in the channel about a thread that a message there began. Pure. */
import type { DiscordId } from "../../../shared/ids.ts";
import type { Thread } from "../../sidecar/names.ts";
import { splitMarkdown } from "../transcript/split.ts";
import { describeState } from "./threads.ts";

/** Room for the line below it. */
const MAX_WORDS = 1_800;

/** The one message that says how it stands; null if the VM does not know the thread any more. */
export function channelStatus(threadId: DiscordId, thread: Thread | null): string {
  if (!thread) return `🤖 <#${threadId}> · the VM does not know it any more`;
  // What it does this moment would be an edit a second: that is told in the thread.
  const state = describeState({ ...thread, turn: null, doing: null, holds: null });
  return `🤖 **#${thread.number}** <#${threadId}> · ${state}`;
}

/** A turn's last words, as far as they fit into one message. */
export function channelWords(threadId: DiscordId, text: string): string {
  const [first = "", ...rest] = splitMarkdown(text, MAX_WORDS).pages;
  return rest.length === 0 ? first : `${first}\n-# The rest is in <#${threadId}>.`;
}
